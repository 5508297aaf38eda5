# SPDX-License-Identifier: Apache-2.0
"""The datasets that the built-in connectors return for lineage."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkConnector
from headrace.connectors.file_stream.file_stream_source import FileStreamSourceConnector
from headrace.connectors.spark_files.spark_file_source import SparkFileSourceConnector
from headrace.connectors.spark_sink.spark_sink import SparkSinkConnector
from headrace.connectors.spark_table.spark_table_source import SparkTableSourceConnector

POSTGRES = {"spark.option.url": "jdbc:postgresql://db/shop?user=u&password=p"}
BULK = {"topic": "t", "mode": "bulk"}


@pytest.mark.parametrize(
    ("kind", "props", "datasets"),
    [
        (FileStreamSourceConnector, {"file": "/in.txt", "topic": "t"}, [("file", "/in.txt")]),
        (FileStreamSourceConnector, {"topic": "t"}, []),
        (FileStreamSinkConnector, {"file": "/out.txt"}, [("file", "/out.txt")]),
        (FileStreamSinkConnector, {}, []),
        (SparkFileSourceConnector, {"path": "s3a://b/in", "spark.format": "json", "topic": "t"}, [("s3://b", "in")]),
        (
            SparkTableSourceConnector,
            {**BULK, **POSTGRES, "spark.format": "jdbc", "table": "orders"},
            [("postgres://db:5432", "shop.public.orders")],
        ),
        (SparkTableSourceConnector, {**BULK, "spark.format": "parquet", "path": "/in"}, [("file", "/in")]),
        (SparkTableSourceConnector, {**BULK, **POSTGRES, "spark.format": "jdbc", "query": "SELECT 1"}, []),
        (
            SparkSinkConnector,
            {"spark.format": "parquet", "path": "/out/${topic}"},
            [("file", "/out/a"), ("file", "/out/b")],
        ),
        (
            SparkSinkConnector,
            {**POSTGRES, "spark.format": "jdbc", "table": "sales.all"},
            [("postgres://db:5432", "shop.sales.all")],
        ),
    ],
)
def test_datasets(kind: Any, props: dict[str, str], datasets: list[tuple[str, str]]):
    connector = kind()
    connector.start({"name": "c", "topics": "a,b", **props})
    found = connector.datasets({"b", "a"})
    assert [(each.namespace, each.name) for each in found] == datasets


def test_rows_are_records_of_topics():
    def topics(kind: Any, **props: str) -> list[list[str]]:
        connector = kind()
        connector.start({"name": "c", **props})
        return [sorted(each.topics) for each in connector.datasets({"b", "a"})]

    parquet = {"spark.format": "parquet"}
    assert topics(SparkSinkConnector, topics="a,b", path="/out/${topic}", **parquet) == [["a"], ["b"]]
    assert topics(SparkSinkConnector, topics="a,b", path="/out", **parquet) == [["a", "b"]]
    assert topics(SparkTableSourceConnector, path="/in", **BULK, **parquet) == [["a", "b"]]
    assert topics(SparkFileSourceConnector, path="/in", topic="t", **parquet) == [["a", "b"]]
    assert topics(FileStreamSinkConnector, file="/out.txt") == [[]]
