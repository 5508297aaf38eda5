# SPDX-License-Identifier: Apache-2.0
"""Previews by a real worker: what they show, that they write nothing, and that nothing of them is left."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import (
    STUBBORN,
    ends,
    ends_at_rest,
    lines_config,
    marked,
    preview,
    runs_a_job,
    sandboxes,
)
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess


def test_each_step_is_shown_and_nothing_is_written(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\nnumber 3\n")
    steps = {
        "transforms": "hoist,route,two",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "routed",
        "transforms.two.type": "Filter",
        "transforms.two.predicate": "never",
        "predicates": "never",
        "predicates.never.type": "TopicNameMatches",
        "predicates.never.pattern": "never",
        "transforms.two.negate": "false",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    before = ends_at_rest(broker)
    answer = preview(previewing, lines_config(unique, file, **steps), records=2)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["end"], shown["error"], shown["tasks"], shown["notes"]) == ("records", None, 1, [])
    assert [record["polled"]["value"]["value"] for record in shown["records"]] == ["one", "two"]
    first = shown["records"][0]
    assert first["sourceOffset"] == {"position": 4} and first["sourcePartition"] == {"filename": str(file)}
    assert [(step["transform"], step["outcome"]) for step in first["steps"]] == [
        ("hoist", "changed"),
        ("route", "changed"),
        ("two", "skipped"),
    ]
    assert first["steps"][0]["after"]["value"]["value"] == {"line": "one"}
    assert first["steps"][2]["predicate"] == {"predicate": "never", "result": False, "negate": False}
    assert (first["outcome"], first["result"]["topic"]) == ("written", "routed")
    assert base64.b64decode(first["result"]["value"]["bytes"]) == b'{"line":"one"}'
    assert first["result"]["value"]["value"] == {"line": "one"}
    assert ends(broker) == before
    assert previewing.connectors() == set()
    assert not sandboxes(previewing)


def test_records_that_are_dropped_or_fail(previewing: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("12\nno number\n")
    steps = {"transforms": "cast", "transforms.cast.type": "Cast$Value", "transforms.cast.spec": "int32"}
    config = lines_config(unique, file, **steps, **{"value.converter": "JsonConverter"})
    _, failed = preview(previewing, config, records=2).json()["records"]
    assert failed["outcome"] == "fails the task" and failed["result"] is None
    assert (failed["error"]["stage"], failed["error"]["transform"]) == ("TRANSFORMATION", "cast")
    tolerant = {**config, "errors.tolerance": "all"}
    assert preview(previewing, tolerant, records=2).json()["records"][1]["outcome"] == "skipped"
    queue = {"errors.deadletterqueue.topic.name": "letters"}
    letter = preview(previewing, {**tolerant, **queue}, records=2).json()["records"][1]
    assert (letter["outcome"], letter["error"]["deadLetterTopic"]) == ("dead letter", "letters")
    dropping = {"transforms": "drop", "transforms.drop.type": "Filter"}
    dropped = preview(previewing, lines_config(unique, file, **dropping), records=1).json()["records"][0]
    assert (dropped["outcome"], dropped["steps"][0]["outcome"], dropped["result"]) == ("dropped", "dropped", None)


def test_secrets_are_hidden_also_in_bytes(previewing: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    secrets = Path(previewing.properties_file.parent / "secrets.properties")
    steps = {
        "transforms": "hoist,insert",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.insert.type": "InsertField$Value",
        "transforms.insert.static.field": "token",
        "transforms.insert.static.value": f"${{file:{secrets}:token}}",
        "value.converter": "JsonConverter",
    }
    answer = preview(previewing, lines_config(unique, file, **steps), records=1)
    assert answer.json()["records"][0]["outcome"] == "written"
    raw = answer.json()["records"][0]["result"]["value"]["bytes"]
    assert b"[hidden]" in base64.b64decode(raw)
    assert "open-sesame" not in answer.text and b"open-sesame" not in base64.b64decode(raw)


def test_a_connectors_preview_continues_at_its_committed_offsets(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    config = lines_config(unique, file)
    previewing.create(unique, **{name: text for name, text in config.items() if name != "name"})
    wait_for_values(broker.bootstrap_servers, unique, 2)
    wait_for(lambda: previewing.rest.get(f"/connectors/{unique}/offsets").json()["offsets"], 60, "offsets")
    previewing.stop_connector(unique)
    with file.open("a") as appending:
        appending.write("three\n")
    offsets, before = previewing.rest.get(f"/connectors/{unique}/offsets").json(), ends_at_rest(broker)
    answer = previewing.rest.post(f"/connectors/{unique}/preview", params={"records": 1})
    assert answer.status_code == 200, answer.text
    assert [record["polled"]["value"]["value"] for record in answer.json()["records"]] == ["three"]
    changed = {**config, "value.converter": "ByteArrayConverter"}
    failing = previewing.rest.post(f"/connectors/{unique}/preview", params={"records": 1}, json=changed).json()
    assert failing["records"][0]["error"]["stage"] == "VALUE_CONVERTER"
    assert failing["records"][0]["error"]["hint"] == "is value.converter the converter that fits these records?"
    assert previewing.rest.get(f"/connectors/{unique}/offsets").json() == offsets
    assert ends(broker) == before
    previewing.delete(unique)
    assert previewing.rest.post(f"/connectors/{unique}/preview").status_code == 404


def test_the_command(previewing: WorkerProcess, unique: str, tmp_path: Path) -> None:
    file, config = tmp_path / "lines.txt", tmp_path / "lines.json"
    file.write_text("12\nno number\n")
    steps = {
        "transforms": "number,route",
        "transforms.number.type": "Cast$Value",
        "transforms.number.spec": "int32",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "numbers",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
    }
    config.write_text(json.dumps(lines_config(unique, file, **steps)))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headrace", "preview", "--url", f"http://127.0.0.1:{previewing.port}"]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=100)

    done = run("-f", str(config), "--records", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f'Record 1: source partition {{"filename": "{file}"}}, offset {{"position": 3}}',
        f'  polled: topic {unique}, value "12"',
        "  number (Cast$Value): changed",
        '    ~ value: "12" → 12',
        '    ~ value\'s schema: "string" → "int32"',
        "  route (RegexRouter): changed",
        f'    ~ topic: "{unique}" → "numbers"',
        "  Would be written to topic numbers, a partition of the producer's choice: value of 2 bytes: 12",
        f'Record 2: source partition {{"filename": "{file}"}}, offset {{"position": 13}}',
        f'  polled: topic {unique}, value "no number"',
        "  number (Cast$Value): failed",
        "  The record would be skipped: TRANSFORMATION number: DataError: Cannot cast: 'no number' is no int32",
        "2 records of task 0 of 1; nothing was written",
    ]
    as_json = run("-f", str(config), "--records", "1", "-o", "json")
    assert json.loads(as_json.stdout)["records"][0]["outcome"] == "written"
    config.write_text(json.dumps({**lines_config(unique, file, **steps), "errors.tolerance": "none"}))
    failed = run("-f", str(config), "--records", "2")
    assert failed.returncode == 1 and "1 records would fail the task" in failed.stderr
    assert run("--connector", "unknown").returncode == 3
    assert "Name a file with -f" in run().stderr


@pytest.mark.parametrize(
    ("where", "stage", "records"),
    [("connector.start", "Connector.start", 0), ("task.start", "SourceTask.start", 0), ("poll", "SourceTask.poll", 1)],
)
def test_a_connector_that_hangs_is_killed_at_the_deadline(
    previewing: WorkerProcess, unique: str, where: str, stage: str, records: int
) -> None:
    config = {"name": unique, "connector.class": STUBBORN, "hang": where, "mark": f"mark-{unique}"}
    with ThreadPoolExecutor() as pool:
        begun = time.monotonic()
        answering = pool.submit(preview, previewing, config, timeout=12)
        wait_for(lambda: marked(config["mark"]), 12, "the child of the connector")
        hanging = sandboxes(previewing)
        assert hanging
        answer = answering.result()
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert 12 <= time.monotonic() - begun < 40
    assert (shown["end"], shown["stage"], len(shown["records"])) == ("killed", stage, records)
    assert "did not end within 12 seconds" in shown["error"]["message"] and shown["error"]["stage"] == stage
    assert not [each for each in hanging if each.is_running()] and not sandboxes(previewing)
    assert not marked(config["mark"])


def test_an_error_of_the_task_is_in_the_answer(previewing: WorkerProcess, unique: str) -> None:
    shown = preview(previewing, {"name": unique, "connector.class": STUBBORN, "hang": "", "mark": "-"}).json()
    assert (shown["end"], len(shown["records"])) == ("error", 1)
    error = shown["error"]
    assert (error["stage"], error["error"], error["message"]) == (
        "SourceTask.poll",
        "RuntimeError",
        "the source is broken",
    )
    assert "stubborn_source.py" in error["trace"]


def test_only_a_few_run_at_a_time_and_end_with_the_worker(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    config = {"name": unique, "connector.class": STUBBORN, "hang": "poll", "mark": f"mark-{unique}"}
    with WorkerProcess(tmp_path, broker.bootstrap_servers, **{"group.id": unique}) as worker:
        worker.await_answer(path="/connectors")
        with ThreadPoolExecutor() as pool:
            running = [pool.submit(preview, worker, config, timeout=60) for _ in range(4)]
            wait_for(lambda: len(marked(config["mark"])) == 4, 50, "four previews that hang")
            refused = preview(worker, config)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "4 requests that run plugins' code" in refused.json()["message"]
            worker.kill()
            wait_for(lambda: not marked(config["mark"]), 30, "the end of all that was started")
            wait_for(lambda: not any(map(runs_a_job, worker.leftovers())), 30, "the end of the sandboxes")
            for each in running:
                with pytest.raises(httpx2.HTTPError):
                    each.result()


def test_mistakes(previewing: WorkerProcess, unique: str, tmp_path: Path) -> None:
    invalid = preview(previewing, {"name": unique, "connector.class": "FileStreamSource", "tasks.max": "x"})
    assert invalid.status_code == 400 and "tasks.max" in invalid.json()["message"]
    nameless = preview(previewing, {"connector.class": "FileStreamSource", "topic": "t"})
    assert nameless.status_code == 400 and "name" in nameless.json()["message"]
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    no_task = preview(previewing, lines_config(unique, file), task=3)
    assert (no_task.status_code, no_task.json()["message"]) == (
        400,
        "There is no task 3: the connector makes 1, numbered from 0",
    )
    assert preview(previewing, lines_config(unique, file), records=0).status_code == 400
    java = {"name": unique, "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector"}
    known = preview(previewing, java)
    assert known.status_code == 400
    assert "Instead, in Python: SparkTableSource" in known.json()["message"]
    unknown = preview(previewing, {**java, "connector.class": "com.example.OwnConnector"})
    assert unknown.status_code == 400 and "com.example.OwnConnector" in unknown.json()["message"]
    few = preview(previewing, lines_config(unique, file), records=5, timeout=12).json()
    assert (few["end"], len(few["records"])) == ("time", 1)
