# SPDX-License-Identifier: Apache-2.0
"""Well-known Java plugins that headrace does not have: what each is, and what to use in its place."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from headrace.plugins.builtin import PluginKind

_OWN: Final = "a connector of your own in Python takes its place (docs/guide/plugins.md)"
_SINK: Final = "SparkSink writes with any of Spark's formats"
_TABLES: Final = (
    "SparkTableSource reads new and updated rows of tables by queries; it does not see deletions, nor each change"
)
_ROUTE: Final = "RegexRouter, or a transformation of your own in Python (docs/guide/transformations.md)"


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """One or more Java classes, by patterns of their simple names; ``package`` is in the full name, if one is given."""

    kind: PluginKind
    classes: tuple[str, ...]
    package: str
    is_what: str
    instead: str

    def matches(self, kind: PluginKind, name: str) -> bool:
        """Return True if a name, with or without its package, is one of these."""
        package, _, simple = name.strip().rpartition(".")
        fits = any(fnmatchcase(simple.partition("$")[0], each) for each in self.classes)
        return kind is self.kind and fits and (not package or package.startswith(self.package))


def _connectors(classes: str, package: str, is_what: str, instead: str) -> JavaPlugin:
    return JavaPlugin(PluginKind.CONNECTOR, tuple(classes.split()), package, is_what, instead)


def _converters(classes: str, package: str, is_what: str, instead: str) -> JavaPlugin:
    return JavaPlugin(PluginKind.CONVERTER, tuple(classes.split()), package, is_what, instead)


def _transformations(classes: str, package: str, is_what: str, instead: str) -> JavaPlugin:
    return JavaPlugin(PluginKind.TRANSFORMATION, tuple(classes.split()), package, is_what, instead)


# fmt: off
JAVA_PLUGINS: Final = (
    _connectors("PostgresConnector MySqlConnector MariaDbConnector SqlServerConnector OracleConnector Db2Connector "
                "Db2As400RpcConnector VitessConnector SpannerConnector InformixConnector CockroachDBConnector",
                "io.debezium", "Debezium's source of a database's changes", _TABLES),
    _connectors("MongoDbConnector", "io.debezium", "Debezium's source of MongoDB's changes",
                "SparkTableSource with spark.format=mongodb and the MongoDB package reads collections"),
    _connectors("JdbcSinkConnector", "io.debezium", "Debezium's sink for databases",
                f"{_SINK}, with spark.format=jdbc"),
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
                "SparkTableSource with spark.format=mongodb and the MongoDB package reads collections"),
    _connectors("MongoSinkConnector", "com.mongodb", "MongoDB's sink",
                f"{_SINK}, such as mongodb with the MongoDB package"),
    _connectors("MirrorSourceConnector MirrorCheckpointConnector MirrorHeartbeatConnector",
                "org.apache.kafka.connect.mirror", "part of MirrorMaker 2",
                "run MirrorMaker beside headrace, which has no connector that copies topics of another cluster"),
    _connectors("DatagenConnector", "io.confluent", "Confluent's generator of sample records",
                "VerifiableSource and SchemaSource generate records for tests"),
    _connectors("HttpSinkConnector HttpSourceConnector HttpV2SinkConnector HttpV2SourceConnector RestSourceConnector",
                "", "a connector for HTTP", _OWN),
    _connectors("SnowflakeSinkConnector SnowflakeStreamingSinkConnector", "com.snowflake", "the sink for Snowflake",
                f"{_SINK}, such as snowflake with Snowflake's Spark package"),
    _connectors("BigQuerySinkConnector", "com.", "the sink for BigQuery",
                f"{_SINK}, such as bigquery with Google's Spark package"),
    _connectors("IcebergSinkConnector", "", "the sink for Apache Iceberg",
                f"{_SINK}, such as iceberg with Iceberg's Spark package"),
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
    _converters("AvroConverter ProtobufConverter JsonSchemaConverter", "io.",
                "a converter for Confluent's Schema Registry",
                "headrace has none for it; JsonConverter writes schemas with the records"),
    _converters("CloudEventsConverter BinaryDataConverter", "io.debezium", "a converter of Debezium's",
                "headrace has JsonConverter, StringConverter, ByteArrayConverter and those of numbers"),
    _transformations("ExtractNewRecordState ExtractNewDocumentState EventRouter MongoEventRouter "
                     "ExtractChangedRecordState HeaderToValue PartitionRouting TimezoneConverter",
                     "io.debezium", "a transformation of Debezium's",
                     "a transformation of your own in Python takes its place"),
    _transformations("ByLogicalTableRouter ExtractTopic TopicRegexRouter", "io.",
                     "a transformation that chooses topics", _ROUTE),
)
# fmt: on


def java_plugin_hint(kind: PluginKind, name: str) -> str | None:
    """Return what a Java plugin is and what to use in its place; None if no such plugin is well known."""
    for plugin in JAVA_PLUGINS:
        if plugin.matches(kind, name):
            return f"it is {plugin.is_what}, a Java {kind.noun}, which headrace does not run. Instead: {plugin.instead}"
    return None
