# SPDX-License-Identifier: Apache-2.0
"""Well-known Java plugins that are not built in: what each is, how to install it, and what Python has instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from types import MappingProxyType
from typing import Final

from headrace import KAFKA_VERSION
from headrace.plugins.builtin import JAVA_PREFIX, PluginKind

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_DEBEZIUM: Final = "3.3.1.Final"
_OWN: Final = "a connector of your own in Python takes its place (docs/guide/plugins.md)"
_SINK: Final = "SparkSink writes with any of Spark's formats"
_TABLES: Final = (
    "SparkTableSource reads new and updated rows of tables by queries; it does not see deletions, nor each change"
)
_ROUTE: Final = "RegexRouter, or a transformation of your own in Python (docs/guide/transformations.md)"


@dataclass(frozen=True, slots=True)
class WellKnownPlugin:
    """One or more Java classes, by patterns of their simple names; ``package`` is in the full name, if one is given."""

    kind: PluginKind
    classes: tuple[str, ...]
    package: str
    is_what: str
    instead: str
    coordinates: Mapping[str, str]
    """Of the classes, those that Maven Central has, with group:name:version; `*` is all."""
    options: str = ""
    """Options of the command that installs it, for artifacts that it needs besides."""

    def coordinate(self, name: str) -> str | None:
        """Return the Maven coordinate of a name that matches; None if Maven Central has none."""
        simple = name.strip().rpartition(".")[2].partition("$")[0]
        return self.coordinates.get(simple) or self.coordinates.get("*")

    def matches(self, kind: PluginKind, name: str) -> bool:
        """Return True if a name, with or without its package, is one of these."""
        package, _, simple = name.strip().rpartition(".")
        fits = any(fnmatchcase(simple.partition("$")[0], each) for each in self.classes)
        return kind is self.kind and fits and (not package or package.startswith(self.package))


def _entry(
    kind: PluginKind,
    classes: str,
    package: str,
    is_what: str,
    instead: str,
    coordinates: str | Mapping[str, str] = _NONE,
    options: str = "",
) -> WellKnownPlugin:
    found = coordinates if isinstance(coordinates, Mapping) else {"*": coordinates}
    return WellKnownPlugin(kind, tuple(classes.split()), package, is_what, instead, found, options)


def _debezium(artifact: str) -> str:
    return f"io.debezium:debezium-{artifact}:{_DEBEZIUM}"


_connectors = partial(_entry, PluginKind.CONNECTOR)
_converters = partial(_entry, PluginKind.CONVERTER)
_transformations = partial(_entry, PluginKind.TRANSFORMATION)
_DATABASES: Final = {
    f"{database}Connector": _debezium(f"connector-{database.lower()}")
    for database in ("MySql", "SqlServer", "Oracle", "Db2", "Vitess", "Spanner")
} | {"PostgresConnector": _debezium("connector-postgres")}
_MONGODB: Final = "org.mongodb.kafka:mongo-kafka-connect:2.0.1"
_ICEBERG_WRITERS: Final = (
    "--with org.apache.iceberg:iceberg-parquet:1.12.0 --with org.apache.hadoop:hadoop-client-runtime:3.4.2"
)
_OF_KAFKA: Final = {
    f"org.apache.kafka.connect.{package}.": f"org.apache.kafka:connect-{module}:{KAFKA_VERSION}"
    for package, module in (
        ("file", "file"),
        ("tools", "test-plugins"),
        ("transforms", "transforms"),
        ("json", "json"),
    )
}
"""The coordinates of Kafka's own plugins, which headrace has, by the packages of their classes."""


# fmt: off
JAVA_PLUGINS: Final = (
    _connectors("PostgresConnector MySqlConnector MariaDbConnector SqlServerConnector OracleConnector Db2Connector "
                "Db2As400RpcConnector VitessConnector SpannerConnector InformixConnector CockroachDBConnector",
                "io.debezium", "Debezium's source of a database's changes", _TABLES, _DATABASES),
    _connectors("MongoDbConnector", "io.debezium", "Debezium's source of MongoDB's changes",
                "SparkTableSource with spark.format=mongodb and the MongoDB package reads collections",
                _debezium("connector-mongodb")),
    _connectors("JdbcSinkConnector", "io.debezium", "Debezium's sink for databases",
                f"{_SINK}, with spark.format=jdbc", _debezium("connector-jdbc")),
    _connectors("JdbcSourceConnector", "io.", "the JDBC source of Confluent and of Aiven",
                "SparkTableSource with spark.format=jdbc has its modes (incrementing, timestamp, bulk)"),
    _connectors("JdbcSinkConnector", "io.", "the JDBC sink of Confluent and of Aiven",
                "SparkSink with spark.format=jdbc inserts and upserts"),
    _connectors("S3SinkConnector AivenKafkaConnectS3SinkConnector", "io.",
                "the sink for Amazon S3", "SparkSink with spark.format=parquet and a path of s3a:// writes there"),
    _connectors("S3SourceConnector", "io.", "the source that reads Amazon S3",
                "SparkFileSource with a path of s3a:// reads there"),
    _connectors("GcsSinkConnector", "io.", "the sink for Google Cloud Storage",
                "SparkSink with a path of gs:// writes there"),
    _connectors("AzureBlobStorageSinkConnector AzureDataLakeGen2SinkConnector AzureDataLakeGen1SinkConnector", "io.",
                "the sink for Azure's storage", "SparkSink with a path of abfss:// writes there"),
    _connectors("HdfsSinkConnector Hdfs3SinkConnector Hdfs2SinkConnector", "io.", "the sink for HDFS",
                "SparkSink with a path of hdfs:// writes there"),
    _connectors("ElasticsearchSinkConnector OpensearchSinkConnector OpenSearchSinkConnector", "io.",
                "the sink for Elasticsearch or OpenSearch",
                f"{_SINK}, such as es or opensearch with that project's Spark package"),
    _connectors("MongoSourceConnector", "com.mongodb", "MongoDB's source of changes",
                "SparkTableSource with spark.format=mongodb and the MongoDB package reads collections", _MONGODB),
    _connectors("MongoSinkConnector", "com.mongodb", "MongoDB's sink",
                f"{_SINK}, such as mongodb with the MongoDB package", _MONGODB),
    _connectors("MirrorSourceConnector MirrorCheckpointConnector MirrorHeartbeatConnector",
                "org.apache.kafka.connect.mirror", "part of MirrorMaker 2",
                "headrace has none that copies topics; MirrorMaker's run in it unchanged",
                f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"),
    _connectors("DatagenConnector", "io.confluent", "Confluent's generator of sample records",
                "VerifiableSource and SchemaSource generate records for tests"),
    _connectors("HttpSinkConnector HttpSourceConnector HttpV2SinkConnector HttpV2SourceConnector RestSourceConnector",
                "", "a connector for HTTP", _OWN),
    _connectors("SnowflakeSinkConnector SnowflakeStreamingSinkConnector", "com.snowflake", "the sink for Snowflake",
                f"{_SINK}, such as snowflake with Snowflake's Spark package",
                "com.snowflake:snowflake-kafka-connector:2.5.0"),
    _connectors("BigQuerySinkConnector", "com.", "the sink for BigQuery",
                f"{_SINK}, such as bigquery with Google's Spark package"),
    _connectors("IcebergSinkConnector", "", "the sink for Apache Iceberg",
                f"{_SINK}, such as iceberg with Iceberg's Spark package",
                {"IcebergSinkConnector": "org.apache.iceberg:iceberg-kafka-connect:1.12.0"}, _ICEBERG_WRITERS),
    _connectors("DeltaLakeSinkConnector DeltaSinkConnector DatabricksDeltaLakeSinkConnector", "",
                "a sink for Delta Lake", f"{_SINK}, such as delta with Delta's Spark package"),
    _connectors("CassandraSinkConnector", "", "a sink for Apache Cassandra",
                f"{_SINK}, such as org.apache.spark.sql.cassandra with that project's package"),
    _connectors("ClickHouseSinkConnector", "com.clickhouse", "the sink for ClickHouse",
                f"{_SINK}, such as jdbc with ClickHouse's driver"),
    _connectors("SpoolDirCsvSourceConnector SpoolDirJsonSourceConnector SpoolDirSchemaLess*SourceConnector "
                "SpoolDir*SourceConnector FilePulseSourceConnector FsSourceConnector", "", "a source that reads files",
                "SparkFileSource reads each file of a directory once"),
    _connectors("MqttSourceConnector MqttSinkConnector RabbitMQSourceConnector IbmMQSourceConnector JmsSourceConnector "
                "SplunkSinkConnector SalesforceSourceConnector RedisSinkConnector SqsSourceConnector "
                "KinesisSourceConnector PubSubSourceConnector PubSubSinkConnector CloudPubSubSourceConnector "
                "Neo4jConnector InfluxDBSinkConnector",
                "", "a connector of another system", _OWN),
    _connectors("Camel*SourceConnector Camel*SinkConnector", "org.apache.camel.kafkaconnector",
                "a connector of Apache Camel", _OWN,
                {"CamelTimerSourceConnector": "org.apache.camel.kafkaconnector:camel-timer-kafka-connector:0.7.2"}),
    _converters("AvroConverter ProtobufConverter JsonSchemaConverter", "io.",
                "a converter for Confluent's Schema Registry",
                "headrace has none for it; JsonConverter writes schemas with the records"),
    _converters("CloudEventsConverter BinaryDataConverter", "io.debezium", "a converter of Debezium's",
                "headrace has JsonConverter, StringConverter, ByteArrayConverter and those of numbers",
                _debezium("core")),
    _transformations("ExtractNewRecordState ExtractNewDocumentState EventRouter MongoEventRouter "
                     "ExtractChangedRecordState HeaderToValue PartitionRouting TimezoneConverter",
                     "io.debezium", "a transformation of Debezium's",
                     "a transformation of your own in Python takes its place",
                    dict.fromkeys(("ExtractNewDocumentState", "MongoEventRouter"), _debezium("connector-mongodb"))
                    | {"*": _debezium("core")}),
    _transformations("ByLogicalTableRouter ExtractTopic TopicRegexRouter", "io.",
                     "a transformation that chooses topics", _ROUTE),
)
# fmt: on


def java_plugin_hint(kind: PluginKind, name: str, directory: str | None = None) -> str | None:
    """Return what a Java plugin is, how it is installed, and what is in Python; None if no such plugin is well known.

    ``directory`` is one that the worker looks for plugins in. With ``java:`` before it, a name is of Java alone.
    """
    java, name = name.startswith(JAVA_PREFIX), name.removeprefix(JAVA_PREFIX)
    for plugin in JAVA_PLUGINS:
        if plugin.matches(kind, name):
            install = _command(plugin.coordinate(name), plugin.options, directory)
            what = f"it is {plugin.is_what}, a Java {kind.noun} that is not installed. To install it: {install}"
            return what if java else f"{what}. Instead, in Python: {plugin.instead}"
    coordinate = next((text for package, text in _OF_KAFKA.items() if java and name.startswith(package)), None)
    return f"to install it: {_command(coordinate, '', directory)}" if coordinate else None


def _command(coordinate: str | None, options: str, directory: str | None) -> str:
    words = ["headrace plugins install", coordinate or "ARCHIVE", options, f"--into {directory}" if directory else ""]
    return " ".join(filter(None, words)) + ("" if coordinate else ", with its vendor's archive")
