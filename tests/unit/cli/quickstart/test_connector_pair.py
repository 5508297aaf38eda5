# SPDX-License-Identifier: Apache-2.0
"""The properties of a quickstart's worker and connectors are valid, and without effectless ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.source import ExactlyOnceSupport
from headrace.cli.quickstart.connector_pair import (
    OFFSET_COLUMN,
    ConnectorPair,
    lines_to_parquet,
    orders_to_parquet,
    worker_properties,
)
from headrace.cli.worker_properties import check_worker_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.connectors.file_stream.file_stream_source import FileStreamSourceConnector
from headrace.connectors.sample.orders_source import CONFIG_DEF, ORDER_SCHEMA, OrdersSourceConnector
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings

OUT = Path("/data/out")


@pytest.mark.parametrize("pair", [orders_to_parquet(OUT, 20, None), lines_to_parquet(OUT, Path("/data/lines.txt"))])
def test_the_sink_reads_the_sources_topic_and_writes_each_records_offset(pair: ConnectorPair) -> None:
    settings = SinkSettings.of({"name": pair.sink, **pair.sink_config})
    assert settings.path == str(OUT)
    assert pair.sink_config["topics"] == pair.source_config["topic"] == pair.topic
    assert f"kafka_{settings.shape['include.columns']}" == OFFSET_COLUMN
    assert list(pair.configs) == [pair.source, pair.sink]


def test_orders_have_a_column_for_each_field_and_end_with_the_last_wanted_record() -> None:
    pair = orders_to_parquet(OUT, 7, 100)
    columns = [column.split()[0] for column in pair.sink_config["value.schema"].split(", ")]
    assert columns == [field.name for field in ORDER_SCHEMA.fields]
    parsed = CONFIG_DEF.parse(pair.source_config)
    assert (parsed["throughput"], parsed["num.orders"]) == (7, 100)
    assert CONFIG_DEF.parse(orders_to_parquet(OUT, 7, None).source_config)["num.orders"] is None


def test_both_sources_are_exactly_once() -> None:
    orders, lines = orders_to_parquet(OUT, 20, None), lines_to_parquet(OUT, Path("/data/lines.txt"))
    required = [pair.source_config["exactly.once.support"] for pair in (orders, lines)]
    assert required == ["required", "required"]
    supports = OrdersSourceConnector().exactly_once_support(orders.source_config)
    assert supports is ExactlyOnceSupport.SUPPORTED
    supports = FileStreamSourceConnector().exactly_once_support(lines.source_config)
    assert supports is ExactlyOnceSupport.SUPPORTED


def test_the_workers_properties_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(worker_properties("127.0.0.1:9", 8123))
    properties = read_properties(file)
    check_worker_properties(DistributedConfig, properties)
    config = DistributedConfig(properties)
    assert config.exactly_once_source_enabled
    assert config.bootstrap_servers == "127.0.0.1:9"
    assert config.raw["listeners"] == "http://127.0.0.1:8123"
