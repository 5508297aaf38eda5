# SPDX-License-Identifier: Apache-2.0
"""The worker and the connectors of a quickstart: their properties. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OFFSET_COLUMN: Final = "kafka_offset"
"""The column of the Parquet files with the record's offset in the topic, by which rows are counted."""
_ORDER_COLUMNS: Final = "id BIGINT, customer STRING, item STRING, quantity INT, price DECIMAL(10,2), time TIMESTAMP"
_WORKER: Final = """\
# A worker for trying things out. `headrace init` writes the properties of one to keep.
bootstrap.servers={brokers}
group.id=quickstart
listeners=http://127.0.0.1:{port}
exactly.once.source.support=enabled
key.converter=StringConverter
value.converter=JsonConverter
value.converter.schemas.enable=false
value.converter.decimal.format=NUMERIC
config.storage.topic=quickstart-configs
offset.storage.topic=quickstart-offsets
status.storage.topic=quickstart-status
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
offset.storage.partitions=1
status.storage.partitions=1
# No other worker will come back.
scheduled.rebalance.max.delay.ms=0
# Each task takes one of Spark's threads, and so does each batch that the sink writes.
spark.master=local[8,4]
spark.driver.memory=512m
spark.ui.enabled=false
"""


@dataclass(frozen=True, slots=True)
class ConnectorPair:
    """A source connector, its topic, and a sink connector, by their names and configurations."""

    topic: str
    source: str
    source_config: Mapping[str, str]
    sink: str
    sink_config: Mapping[str, str]

    @property
    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """The configurations by the connectors' names, in the order in which they are created."""
        return {self.source: self.source_config, self.sink: self.sink_config}


def orders_to_parquet(directory: Path, throughput: int, records: int | None) -> ConnectorPair:
    """Return the connectors of generated orders; `records` is their number, None if there is no end."""
    source = {
        "connector.class": "OrdersSource",
        "tasks.max": "1",
        "topic": "orders",
        "throughput": str(throughput),
        "exactly.once.support": "required",
    }
    if records is not None:
        source["num.orders"] = str(records)
    sink = {**_sink("orders", directory), "value.schema": _ORDER_COLUMNS}
    return ConnectorPair("orders", "orders", source, "orders-to-parquet", sink)


def lines_to_parquet(directory: Path, file: Path) -> ConnectorPair:
    """Return the connectors of a text file's lines; the column is `value`."""
    source = {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "topic": "lines",
        "file": str(file),
        "value.converter": "StringConverter",
        "exactly.once.support": "required",
    }
    return ConnectorPair("lines", "lines", source, "lines-to-parquet", _sink("lines", directory))


def worker_properties(brokers: str, port: int) -> str:
    """Return the text of the worker's properties file."""
    return _WORKER.format(brokers=brokers, port=port)


def _sink(topic: str, directory: Path) -> dict[str, str]:
    return {
        "connector.class": "SparkSink",
        "tasks.max": "1",
        "topics": topic,
        "value.converter": "StringConverter",
        "spark.format": "parquet",
        "path": str(directory),
        "include.columns": "offset",
        # A file every two seconds is soon there; in production files are larger.
        "rotate.interval.ms": "2000",
    }
