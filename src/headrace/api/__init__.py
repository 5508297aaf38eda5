# SPDX-License-Identifier: Apache-2.0
"""The public API for connectors, transformations, predicates, converters and config providers.

Everything that a plugin needs is imported from here, as `from headrace.api import SourceConnector, SourceTask`. A
plugin extends one of these classes and is found by an entry point or by its name, `module:Class`:

==============================================  ===============================================================
`SourceConnector` and `SourceTask`              read from an outside system into Kafka
`SinkConnector` and `SinkTask`                  write from Kafka into an outside system
`Transformation` and `Predicate`                change or drop single records on their way through a task
`Converter` and `HeaderConverter`               turn Connect data into the bytes of Kafka records, and back
`ConfigProvider`                                resolves references such as `${vault:path:key}` in configurations
`ConnectorClientConfigOverridePolicy`           decides which client properties a connector may override
`ConnectRestExtension`                          adds middleware to the REST API
==============================================  ===============================================================

Names and contracts are those of Java Kafka Connect's `org.apache.kafka.connect` packages, in Python's spelling. What
Kafka Connect does not have says so: "Not in Java".
"""

from __future__ import annotations

from headrace.api.config_def import ConfigDef, ConfigValue, Importance, Password, Recommender, Width
from headrace.api.config_def import Type as ConfigType
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.connector import Connector, ConnectorContext, Task
from headrace.api.converter import Converter, HeaderConverter, SchemaAndValue
from headrace.api.datasets import Dataset, file_dataset, jdbc_dataset
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError, SchemaBuilderError
from headrace.api.frames import FrameJob, Frames
from headrace.api.headers import Header, Headers
from headrace.api.lag import Lag, LagUnit
from headrace.api.plugin_metrics import Counter, Monitorable, PluginMetrics
from headrace.api.policy import ClientType, ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest
from headrace.api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from headrace.api.rest_extension import (
    ConnectClusterState,
    ConnectorHealth,
    ConnectRestExtension,
    ConnectRestExtensionContext,
    Health,
)
from headrace.api.schema import Field, Schema, Struct, Type
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.sink import (
    ColumnarSinkTask,
    ConsumerGroupMetadata,
    ErrantRecordReporter,
    OffsetAndMetadata,
    SinkConnector,
    SinkConnectorContext,
    SinkTask,
    SinkTaskContext,
    TopicPartition,
)
from headrace.api.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    OffsetStorageReader,
    RecordMetadata,
    SourceConnector,
    SourceConnectorContext,
    SourceTask,
    SourceTaskContext,
    TransactionBoundary,
    TransactionContext,
)
from headrace.api.transform import PartTransformation, Predicate, RecordPart, Transformation
from headrace.api.validators import (
    CaseInsensitiveValidString,
    CompositeValidator,
    LambdaValidator,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Nullable,
    Range,
    TopicName,
    Validator,
    ValidList,
    ValidString,
    WritablePath,
)

__all__ = [
    "CaseInsensitiveValidString",
    "ClientType",
    "ColumnarSinkTask",
    "CompositeValidator",
    "ConfigData",
    "ConfigDef",
    "ConfigError",
    "ConfigProvider",
    "ConfigType",
    "ConfigValue",
    "ConnectClusterState",
    "ConnectError",
    "ConnectRecord",
    "ConnectRestExtension",
    "ConnectRestExtensionContext",
    "Connector",
    "ConnectorClientConfigOverridePolicy",
    "ConnectorClientConfigRequest",
    "ConnectorContext",
    "ConnectorHealth",
    "ConnectorTransactionBoundaries",
    "ConsumerGroupMetadata",
    "Converter",
    "Counter",
    "DataError",
    "Dataset",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "Field",
    "FrameJob",
    "Frames",
    "Header",
    "HeaderConverter",
    "Headers",
    "Health",
    "Importance",
    "Lag",
    "LagUnit",
    "LambdaValidator",
    "ListSize",
    "Monitorable",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "NonNull",
    "Nullable",
    "OffsetAndMetadata",
    "OffsetStorageReader",
    "PartTransformation",
    "Password",
    "PluginMetrics",
    "Predicate",
    "Range",
    "Recommender",
    "RecordMetadata",
    "RecordPart",
    "RetriableError",
    "Schema",
    "SchemaAndValue",
    "SchemaBuilder",
    "SchemaBuilderError",
    "SinkConnector",
    "SinkConnectorContext",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceConnector",
    "SourceConnectorContext",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "Struct",
    "Task",
    "TimestampType",
    "TopicName",
    "TopicPartition",
    "TransactionBoundary",
    "TransactionContext",
    "Transformation",
    "Type",
    "ValidList",
    "ValidString",
    "Validator",
    "Width",
    "WritablePath",
    "file_dataset",
    "jdbc_dataset",
]
