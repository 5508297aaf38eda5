# SPDX-License-Identifier: Apache-2.0
"""Previews of steps that run on Spark: their rows, their plans, and that they end when the preview does."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import ends, ends_at_rest, lines_config, preview, sandboxes
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, command_of, python_daemons
from tests.support.sinks import make_topic, send
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


def sql(query: str, name: str = "sql", **more: str) -> dict[str, str]:
    """The properties of a step."""
    settings = {"type": "SparkSql", "query": query, **more}
    return {f"transforms.{name}.{key}": text for key, text in settings.items()}


def hosts(worker: WorkerProcess) -> list[psutil.Process]:
    """The processes of Spark for previews: of a worker without connectors that have one of their own."""
    return [each for each in worker.descendants() if "headrace.spark.engine.jvm_host" in command_of(each)]


def query_processes(hosts: list[psutil.Process]) -> list[psutil.Process]:
    """The processes in which Spark runs Python for them."""
    jvms = [child for host in hosts for child in children_of(host.pid)]
    return [child for jvm in jvms for daemon in python_daemons(jvm) for child in children_of(daemon.pid)]


@pytest.fixture(scope="module")
def warm(previewing: WorkerProcess, tmp_path_factory: pytest.TempPathFactory) -> WorkerProcess:
    """The worker, once Spark is up for its previews: the first one may be answered before."""
    file = tmp_path_factory.mktemp("warm") / "lines.txt"
    file.write_text("one\n")
    config = lines_config("warm", file, transforms="sql", **sql("SELECT * FROM records"))

    def shown() -> bool:
        (record,) = preview(previewing, config, records=1, timeout=60).json()["records"]
        reasons = record["steps"][0].get("message", "")
        assert record["outcome"] == "written" or "the time of the preview" in reasons, record
        return bool(record["outcome"] == "written")

    wait_for(shown, 240, "Spark for previews")
    return previewing


def test_a_sources_steps_before_and_after_a_query(
    warm: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a b\nnone\nc\n")
    query = "SELECT explode(split(value.line, ' ')) AS word, 1 AS n FROM records WHERE value.line <> 'none'"
    steps = {"transforms": "hoist,sql,cast,none", "transforms.hoist.type": "HoistField$Value", **sql(query), **JSON}
    steps |= {
        "transforms.hoist.field": "line",
        "transforms.cast.type": "Cast$Value",
        "transforms.cast.spec": "n:string",
    }
    steps |= sql("SELECT * FROM records WHERE value.word <> 'c'", "none")
    before = ends_at_rest(broker)
    answer = preview(warm, lines_config(unique, file, **steps), records=3, timeout=60)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    two, none, last = shown["records"]
    assert [(step["transform"], step["outcome"], step.get("row")) for step in two["steps"]] == [
        ("hoist", "changed", None),
        ("sql", "changed", None),
        ("cast", "changed", 1),
        ("cast", "changed", 2),
        ("none", "unchanged", None),
    ], two
    assert [row["value"]["value"] for row in two["steps"][1]["rows"]] == [{"word": "a", "n": 1}, {"word": "b", "n": 1}]
    assert [each["value"]["value"] for each in two["results"]] == [{"word": "a", "n": "1"}, {"word": "b", "n": "1"}]
    assert two["result"] == two["results"][0] and two["outcome"] == "written"
    assert [step["outcome"] for step in none["steps"]] == ["changed", "dropped"] and none["outcome"] == "dropped"
    assert [step["outcome"] for step in last["steps"]] == ["changed", "changed", "changed", "dropped"]
    assert last["steps"][1]["after"]["value"]["value"] == {"word": "c", "n": 1} and last["result"] is None
    assert [plan["transform"] for plan in shown["plans"]] == ["sql", "none"]
    assert "== Physical Plan ==" in shown["plans"][0]["plan"] and "explode" in shown["plans"][0]["plan"]
    assert (shown["error"], shown["notes"]) == (None, [])
    assert ends(broker) == before and not sandboxes(warm)


def test_a_sinks_rows_are_those_of_its_records(warm: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    send(broker.bootstrap_servers, unique, [b'{"n": 1}', b'{"n": 2}', b"no json"], key=b"k")
    send(broker.bootstrap_servers, unique, [b'{"n": 3}'], partition=1)
    query = (
        "SELECT topic, partition, max(offset) AS offset, sum(value:n::int) AS n FROM records GROUP BY topic, partition"
    )
    config = {"name": unique, "connector.class": "FileStreamSink", "topics": unique, "file": "/nowhere/none"}
    config |= {"transforms": "sql,n", "transforms.n.type": "ExtractField$Value", "transforms.n.field": "n"}
    config |= {**sql(query), **JSON, "errors.tolerance": "all"}
    before = ends_at_rest(broker)
    answer = preview(warm, config, timeout=60)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    found = {(each["consumed"]["partition"], each["consumed"]["offset"]): each for each in shown["records"]}
    assert {place: each["outcome"] for place, each in found.items()} == {
        (0, 0): "dropped",
        (0, 1): "put",
        (0, 2): "skipped",
        (1, 0): "put",
    }, shown
    assert [step["outcome"] for step in found[0, 1]["steps"]] == ["changed", "changed"]
    assert found[0, 1]["result"]["value"]["value"] == 3 and found[1, 0]["result"]["value"]["value"] == 3
    assert sorted(shown["dryRun"]["rows"]) == ["3", "3"]
    (plan,) = shown["plans"]
    assert "HashAggregate" in plan["plan"] and plan["class"].endswith("SparkSql")
    assert ends(broker) == before


def test_a_secret_of_a_query_is_masked_in_its_plan(warm: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    secret = f"${{file:{warm.properties_file.parent / 'secrets.properties'}:token}}"
    steps = sql(f"SELECT value, topic FROM records WHERE value <> '{secret}'")
    answer = preview(warm, lines_config(unique, file, transforms="sql", **steps), records=1, timeout=60)
    assert answer.json()["records"][0]["outcome"] == "written", answer.text
    assert "[hidden]" in answer.json()["plans"][0]["plan"] and "open-sesame" not in answer.text


def test_queries_that_fail(warm: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("1\nno number\n3\n")
    broken = lines_config(unique, file, transforms="sql", **sql("SELECT nothing FROM records"))
    first = preview(warm, broken, records=3, timeout=60).json()["records"][0]
    assert (first["outcome"], first["result"]) == ("fails the task", None)
    assert [(step["transform"], step["outcome"]) for step in first["steps"]] == [("sql", "failed")]
    assert (first["error"]["stage"], first["error"]["transform"]) == ("TRANSFORMATION", "sql")
    assert "nothing" in first["error"]["message"] and "trace" not in first["error"], first
    assert "\tat " not in str(first) and "Traceback" not in str(first)

    casting = lines_config(unique, file, transforms="sql", **sql("SELECT CAST(value AS INT) AS n FROM records"), **JSON)
    one, bad, three = preview(warm, casting, records=3, timeout=60).json()["records"]
    assert [each["outcome"] for each in (one, bad, three)] == ["written", "fails the task", "written"], bad
    assert bad["error"]["error"] == "DataError" and "no number" in bad["error"]["message"]
    tolerant = {**casting, "errors.tolerance": "all"}
    skipped = preview(warm, tolerant, records=3, timeout=60).json()["records"]
    assert [each["outcome"] for each in skipped] == ["written", "skipped", "written"]


@pytest.mark.parametrize("step", ["in a process of Spark's", "in the driver"])
def test_a_step_that_hangs_ends_with_the_preview(
    warm: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path, step: str
) -> None:
    lines, file = tmp_path / "growing.txt", tmp_path / "lines.txt"
    lines.write_text("0\n")
    file.write_text("one\n")
    # A task with a query, which goes on meanwhile.
    running = lines_config(unique, lines, transforms="sql", **sql("SELECT value FROM records"))
    warm.create(unique, **{name: text for name, text in running.items() if name != "name"})
    wait_for_values(broker.bootstrap_servers, unique, 1)
    processes = {each.pid for each in warm.task_processes()}
    hanging = sql("SELECT hang(value) AS value FROM records", functions="slow_functions:register_hanging")
    if step == "in the driver":
        hanging = {"transforms.sql.type": "slow_functions:hang_in_driver"}
    before, begun = hosts(warm), time.monotonic()
    answer = preview(warm, lines_config(f"{unique}-hangs", file, transforms="sql", **hanging), records=1, timeout=15)
    took = time.monotonic() - begun
    assert answer.status_code == 200, answer.text
    (record,) = answer.json()["records"]
    assert record["outcome"] == "not previewed", record
    assert "did not end within the time of the preview, and was cancelled" in record["steps"][0]["message"]
    assert 11 < took < 40 and not sandboxes(warm)
    if step == "in the driver":
        wait_for(
            lambda: not any(alive(each) for each in before), 60, "the end of Spark, where the step cannot be cancelled"
        )
    else:
        wait_for(lambda: not query_processes(before), 60, "the end of the query's process")
        assert hosts(warm) == before
    with lines.open("a") as appending:
        appending.write("1\n2\n")
    assert wait_for_values(broker.bootstrap_servers, unique, 3) == [b"0", b"1", b"2"]
    assert {each.pid for each in warm.task_processes()} & processes, "another attempt of the task"
    assert warm.task_states(unique) == ["RUNNING"]
    warm.delete(unique)
