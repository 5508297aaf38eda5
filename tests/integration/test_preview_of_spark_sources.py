# SPDX-License-Identifier: Apache-2.0
"""Previews of sources that read by Spark: their rows, steps on whole batches, and Spark that is not up yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import ends, ends_at_rest, preview, sandboxes
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


@pytest.fixture(scope="module")
def fresh(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker whose Spark for previews has not been needed yet."""
    with WorkerProcess(tmp_path_factory.mktemp("fresh"), broker.bootstrap_servers, **{"group.id": "fresh"}) as running:
        running.await_answer(path="/connectors")
        wait_for(lambda: running.rest.put("/connectors/none/pause").status_code == 404, 60, "the worker to lead")
        yield running


def people(path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3], "name": ["a", "b", "a"]}), path)


def table_config(name: str, path: Path, **more: str) -> dict[str, str]:
    config = {"name": name, "connector.class": "SparkTableSource", "spark.format": "parquet", "path": str(path)}
    return {**config, "mode": "bulk", "topic": name, **JSON, **more}


def files_config(name: str, directory: Path, **more: str) -> dict[str, str]:
    config = {"name": name, "connector.class": "SparkFileSource", "spark.format": "csv", "path": str(directory)}
    return {**config, "spark.option.header": "true", "topic": name, "file.settle.ms": "0", **JSON, **more}


def spark_preview(worker: WorkerProcess, ask: Callable[[], httpx2.Response]) -> dict[str, Any]:
    """The answer, once Spark is up and fast enough for it."""

    def answer() -> dict[str, Any] | None:
        found = ask()
        assert found.status_code in (200, 503), found.text
        return None if "the time of the preview" in found.text else found.json()

    return wait_for(answer, 240, lambda: worker.log[-3000:])


def test_spark_that_is_not_up_is_asked_for_again(fresh: WorkerProcess, unique: str, tmp_path: Path) -> None:
    people(tmp_path / "people.parquet")
    config = table_config(unique, tmp_path / "people.parquet")

    def asked() -> httpx2.Response:
        answer = preview(fresh, config, records=3, timeout=60)
        if answer.status_code == 503:
            assert answer.headers["Retry-After"] == "1"
            assert f"There is no preview of connector {unique}: Spark has not started" in answer.json()["message"]
        return answer

    shown = spark_preview(fresh, asked)
    assert [each["result"]["value"]["value"] for each in shown["records"]] == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
        {"id": 3, "name": "a"},
    ], shown


def test_rows_of_a_table(fresh: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    people(tmp_path / "people.parquet")
    before = ends_at_rest(broker)
    more = {"mode": "incrementing", "incrementing.column": "id", "key.columns": "id", "transforms": "sql"}
    query = {"transforms.sql.type": "SparkSql", "transforms.sql.query": "SELECT value.name AS n FROM records"}
    config = table_config(unique, tmp_path / "people.parquet", **more, **query)
    shown = spark_preview(fresh, lambda: preview(fresh, config, records=2, timeout=60))
    assert (shown["end"], shown["error"], shown["notes"], shown["tasks"]) == ("records", None, [], 1), shown
    assert [each["polled"]["value"]["value"] for each in shown["records"]] == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
    ]
    assert all(each["sourceOffset"] for each in shown["records"])
    assert [each["result"]["value"]["value"] for each in shown["records"]] == [{"n": "a"}, {"n": "b"}]
    assert len(shown["plans"]) == 1
    assert ends(broker) == before and not sandboxes(fresh)


def test_a_query_over_several_records_gets_the_whole_batch(fresh: WorkerProcess, unique: str, tmp_path: Path) -> None:
    people(tmp_path / "people.parquet")
    query = "SELECT value.name AS name, count(*) AS n FROM records GROUP BY value.name ORDER BY name"
    steps = {"transforms": "sql", "transforms.sql.type": "SparkSql", "transforms.sql.query": query}
    config = table_config(unique, tmp_path / "people.parquet", **steps)
    shown = spark_preview(fresh, lambda: preview(fresh, config, records=3, timeout=60))
    assert [each["outcome"] for each in shown["records"]] == ["combined", "combined", "written"], shown
    assert [each["steps"][0]["outcome"] for each in shown["records"]] == ["combined", "combined", "changed"]
    last = shown["records"][-1]
    assert [each["value"]["value"] for each in last["results"]] == [{"name": "a", "n": 2}, {"name": "b", "n": 1}]


def test_files_are_read_and_none_is_deleted(
    fresh: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    first = arriving / "first.csv"
    first.write_text("id,name\n1,a\n2,b\n")
    config = files_config(unique, arriving, **{"poll.interval.ms": "600000"})
    shown = spark_preview(fresh, lambda: preview(fresh, config, records=2, timeout=60))
    assert [each["result"]["value"]["value"] for each in shown["records"]] == [
        {"id": "1", "name": "a"},
        {"id": "2", "name": "b"},
    ], shown
    # The file is read to its end, and its offset committed: the task of another configuration would delete it.
    fresh.create(unique, **{name: text for name, text in config.items() if name != "name"})
    assert len(wait_for_values(broker.bootstrap_servers, unique, 2)) == 2
    wait_for(lambda: fresh.rest.get(f"/connectors/{unique}/offsets").json()["offsets"], 60, "the offset")
    (arriving / "second.csv").write_text("id,name\n3,c\n")
    deleting = {**config, "completed.action": "delete"}
    path, params = f"/connectors/{unique}/preview", {"records": 1, "timeout": 60}
    again = spark_preview(fresh, lambda: fresh.rest.post(path, json=deleting, params=params))
    (record,) = again["records"]
    assert record["result"]["value"]["value"] == {"id": "3", "name": "c"}
    assert again["notes"] == ["A preview changes nothing, so this was not done: delete 1 completed files"]
    assert first.exists()
    fresh.delete(unique)
