# SPDX-License-Identifier: Apache-2.0
"""Connectors of Maven Central: of each, a plausible configuration, a wrong value, and what Java says of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace import KAFKA_VERSION
from headrace.java.plugin import JavaKind

_DEBEZIUM: Final = "3.3.1.Final"
_KAFKA: Final = "org.apache.kafka.connect"
_CAMEL: Final = "org.apache.camel.kafkaconnector"
_NOWHERE: Final = {"database.hostname": "localhost", "database.port": "9", "topic.prefix": "shop",
                   "database.user": "reader", "database.password": "secret"}  # fmt: skip
_HISTORY: Final = {"schema.history.internal.kafka.topic": "history",
                   "schema.history.internal.kafka.bootstrap.servers": "localhost:9"}  # fmt: skip
_CLUSTERS: Final = {"source.cluster.alias": "paris", "source.cluster.bootstrap.servers": "localhost:9",
                    "target.cluster.alias": "rome", "target.cluster.bootstrap.servers": "localhost:9"}  # fmt: skip
_MONGODB: Final = "mongodb://localhost:9/?serverSelectionTimeoutMS=300"


@dataclass(frozen=True)
class Known:
    """A connector. ``wrong`` is a value that it refuses; ``says`` has a part of the message by the property's name."""

    class_name: str
    coordinate: str
    config: Mapping[str, str]
    wrong: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    """Of the plausible configuration: servers that are not there, for the most part."""
    says_of_wrong: Mapping[str, str] = field(default_factory=dict)
    kind: JavaKind = JavaKind.SOURCE

    @property
    def version(self) -> str:
        return self.coordinate.rpartition(":")[2]

    @property
    def properties(self) -> dict[str, str]:
        topics = {"topics": "orders"} if self.kind is JavaKind.SINK else {}
        return {"name": "known", "connector.class": self.class_name, **topics, **self.config}


def _debezium(name: str, artifact: str, config: Mapping[str, str], says: Mapping[str, str]) -> Known:
    wrong, said = {"snapshot.mode": "sometimes"}, {"snapshot.mode": "Value must be one of"}
    coordinate = f"io.debezium:debezium-connector-{artifact}:{_DEBEZIUM}"
    return Known(f"io.debezium.connector.{name}", coordinate, config, wrong, says, said)


def _kafkas(module: str, name: str, kind: JavaKind, config: Mapping[str, str]) -> Known:
    wrong, said = dict[str, str](), dict[str, str]()
    if name == "file.FileStreamSourceConnector":
        wrong, said = {"batch.size": "many"}, {"batch.size": "Not a number of type INT"}
    if module == "connect-mirror":
        wrong, said = {"admin.timeout.ms": "many"}, {"admin.timeout.ms": "Not a number of type LONG"}
    coordinate = f"org.apache.kafka:{module}:{KAFKA_VERSION}"
    return Known(f"{_KAFKA}.{name}", coordinate, config, wrong, {}, said, kind)


KNOWN: Final = (
    _debezium("postgresql.PostgresConnector", "postgres", {**_NOWHERE, "database.dbname": "shop"},
              {"database.hostname": "refused"}),
    _debezium("mysql.MySqlConnector", "mysql", {**_NOWHERE, **_HISTORY, "database.server.id": "7"},
              {"database.hostname": "Unable to connect"}),
    _debezium("sqlserver.SqlServerConnector", "sqlserver", {**_NOWHERE, **_HISTORY, "database.names": "shop"},
              {"database.hostname": "Unable to connect"}),
    _debezium("mongodb.MongoDbConnector", "mongodb", {"mongodb.connection.string": _MONGODB, "topic.prefix": "shop"},
              {"mongodb.connection.string": "Unable to connect"}),
    Known("io.debezium.connector.jdbc.JdbcSinkConnector", f"io.debezium:debezium-connector-jdbc:{_DEBEZIUM}",
          {"connection.url": "jdbc:postgresql://localhost:9/shop", "connection.username": "writer",
           "connection.password": "secret", "insert.mode": "upsert", "primary.key.mode": "record_key"},
          {"insert.mode": "sometimes"}, kind=JavaKind.SINK),
    Known("com.mongodb.kafka.connect.MongoSourceConnector", "org.mongodb.kafka:mongo-kafka-connect:2.0.1",
          {"connection.uri": _MONGODB, "database": "shop", "collection": "orders"},
          {"poll.max.batch.size": "0"}, {"connection.uri": "Unable to connect to the server"},
          {"poll.max.batch.size": "Value must be at least 1"}),
    Known("com.mongodb.kafka.connect.MongoSinkConnector", "org.mongodb.kafka:mongo-kafka-connect:2.0.1",
          {"connection.uri": _MONGODB, "database": "shop", "collection": "orders"},
          {"max.batch.size": "many"}, {"connection.uri": "Unable to connect to the server"},
          {"max.batch.size": "Not a number of type INT"}, JavaKind.SINK),
    Known("org.apache.iceberg.connect.IcebergSinkConnector", "org.apache.iceberg:iceberg-kafka-connect:1.12.0",
          {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://localhost:9",
           "iceberg.tables": "shop.orders"},
          {"iceberg.control.commit.interval-ms": "soon"},
          says_of_wrong={"iceberg.control.commit.interval-ms": "Not a number of type INT"}, kind=JavaKind.SINK),
    Known(f"{_CAMEL}.timer.CamelTimerSourceConnector", f"{_CAMEL}:camel-timer-kafka-connector:0.7.2",
          {"camel.source.path.timerName": "tick", "camel.source.endpoint.period": "1000", "topics": "ticks"},
          {"camel.source.maxBatchPollSize": "many"},
          says_of_wrong={"camel.source.maxBatchPollSize": "Not a number of type LONG"}),
    _kafkas("connect-file", "file.FileStreamSourceConnector", JavaKind.SOURCE,
            {"file": "/tmp/lines", "topic": "lines"}),
    _kafkas("connect-file", "file.FileStreamSinkConnector", JavaKind.SINK, {"file": "/tmp/lines"}),
    _kafkas("connect-test-plugins", "tools.VerifiableSourceConnector", JavaKind.SOURCE, {"topic": "numbers"}),
    _kafkas("connect-test-plugins", "tools.VerifiableSinkConnector", JavaKind.SINK, {"id": "1"}),
    _kafkas("connect-test-plugins", "tools.MockSourceConnector", JavaKind.SOURCE, {"mock_mode": "task-failure"}),
    _kafkas("connect-test-plugins", "tools.MockSinkConnector", JavaKind.SINK, {"mock_mode": "task-failure"}),
    _kafkas("connect-test-plugins", "tools.SchemaSourceConnector", JavaKind.SOURCE, {"topic": "rows"}),
    *(_kafkas("connect-mirror", f"mirror.Mirror{name}Connector", JavaKind.SOURCE, _CLUSTERS)
      for name in ("Source", "Checkpoint", "Heartbeat")),
)  # fmt: skip
