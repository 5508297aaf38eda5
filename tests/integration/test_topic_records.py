# SPDX-License-Identifier: Apache-2.0
"""Topics of connectors and their records, as a real worker answers for them."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import create_sink, make_topic, numbers, send
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration
JSON_CONVERTER = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "true"}


@pytest.fixture
def source(worker: WorkerProcess, unique: str, tmp_path: Path) -> Iterator[str]:
    """A source of three lines, which JsonConverter writes with their schemas to the topic of its name."""
    file = tmp_path / "lines"
    file.write_text("one\ntwo\nthree\n")
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique}
    worker.create(unique, **config, **JSON_CONVERTER)
    wait_for(lambda: statistics(worker, unique) and statistics(worker, unique)[0]["records"] >= 3, 60)
    yield unique


def statistics(worker: WorkerProcess, connector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = worker.rest.get(f"/connectors/{connector}/topics/statistics").json()["topics"]
    return found


def records(worker: WorkerProcess, connector: str, topic: str, **params: Any) -> dict[str, Any]:
    params = {name.rstrip("_"): value for name, value in params.items()}
    answer = worker.rest.get(f"/connectors/{connector}/topics/{topic}/records", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def values(found: dict[str, Any]) -> list[Any]:
    return [record["value"]["value"] for record in found["records"]]


def test_records_of_a_source_are_decoded_by_its_converters(worker: WorkerProcess, source: str) -> None:
    [about] = statistics(worker, source)
    assert (about["topic"], about["direction"], about["partitions"]) == (source, "writes", 1)
    found = records(worker, source, source)
    assert values(found) == ["one", "two", "three"] and found["at_end"]
    first = found["records"][0]
    assert first["value"]["schema"] == {"type": "string", "optional": False}
    assert json.loads(base64.b64decode(first["value"]["bytes"]))["payload"] == "one"
    assert first["timestampType"] == "CreateTime" and abs(first["timestamp"] / 1000 - time.time()) < 600
    assert values(records(worker, source, source, from_="tail", limit=2)) == ["two", "three"]
    assert values(records(worker, source, source, from_="0:1", limit=1)) == ["two"]
    raw = records(worker, source, source, limit=1, raw=True)["records"][0]["value"]
    assert raw == {**first["value"], "schema": None, "value": None}
    written = json.loads(base64.b64decode(first["value"]["bytes"]))
    assert values(records(worker, source, source, limit=1, decode="json")) == [written]
    assert [json.loads(text) for text in values(records(worker, source, source, limit=1, decode="text"))] == [written]


def test_a_client_follows_by_positions(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique, 2)
    create_sink(worker, unique, unique, tmp_path / "out")
    begun = records(worker, unique, unique, from_="end")
    assert begun["records"] == [] and begun["positions"] == "0:0,1:0"
    began = time.monotonic()
    idle = records(worker, unique, unique, from_=begun["positions"], wait=1)
    assert idle == begun and time.monotonic() - began >= 1
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(records, worker, unique, unique, from_=begun["positions"], wait=30)
        send(broker.bootstrap_servers, unique, numbers(0, 1), partition=1, key=b"k", headers=[("h", b"12")])
        found = waiting.result()
    assert values(found) == ["0"] and found["positions"] == "0:0,1:1"
    [record] = found["records"]
    assert record["key"]["value"] == "k" and record["headers"][0]["value"]["value"] == 12
    send(broker.bootstrap_servers, unique, numbers(1, 5), partition=0)
    first = records(worker, unique, unique, from_=found["positions"], wait=30, limit=2)
    second = records(worker, unique, unique, from_=first["positions"])
    assert values(first) + values(second) == ["1", "2", "3", "4", "5"]


def test_records_of_a_time_and_later(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """In each partition by itself; where all is older, what comes next is read."""
    make_topic(broker.bootstrap_servers, unique, 2)
    create_sink(worker, unique, unique, tmp_path / "out")
    for at, partition in ((1000, 0), (2000, 0), (3000, 0), (1500, 1)):
        send(broker.bootstrap_servers, unique, [b"%d" % at], partition, timestamp=1_780_300_800_000 + at)
    found = records(worker, unique, unique, from_="2026-06-01T08:00:02Z")
    assert values(found) == ["2000", "3000"] and found["positions"] == "0:3,1:1"
    assert values(records(worker, unique, unique, from_="2026-06-01T10:00:02.001+02:00")) == ["3000"]
    assert values(records(worker, unique, unique, from_="2026-06-01 08:00Z", partition=1)) == ["1500"]
    assert sorted(values(records(worker, unique, unique, from_="1969-12-31T23:00:00Z"))) == sorted(
        ["1000", "1500", "2000", "3000"]
    )
    late = records(worker, unique, unique, from_="2030-01-01T00:00:00Z")
    assert late["records"] == [] and late["positions"] == "0:3,1:1"
    for wrong in ("2026-06-01T08:00:02", "2026-06-31T08:00:00Z", "20260601T080000Z", "yesterday"):
        answer = worker.rest.get(f"/connectors/{unique}/topics/{unique}/records", params={"from": wrong})
        assert answer.status_code == 400 and "a time with its zone" in answer.json()["message"]


def test_bytes_that_the_converter_cannot_decode_are_shown_with_the_error(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b"no json", b'"fine"', None])
    create_sink(
        worker, unique, unique, tmp_path / "out", **{**JSON_CONVERTER, "value.converter.schemas.enable": "false"}
    )
    bad, good, tombstone = (record["value"] for record in records(worker, unique, unique)["records"])
    assert "DataError" in bad["error"] and bad["bytes"] == base64.b64encode(b"no json").decode()
    assert good["value"] == "fine" and "error" not in good
    assert tombstone == {"bytes": None, "schema": None, "value": None}


def test_no_topic_but_the_connectors_own_can_be_read(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    mine, other, configs = f"{unique}-mine", f"{unique}-other", worker.properties["config.storage.topic"]
    for topic in (mine, other):
        make_topic(broker.bootstrap_servers, topic)
    create_sink(worker, unique, "", tmp_path / "out", **{"topics.regex": f"{unique}-m.*|{configs}"})

    def refusal(topic: str, connector: str = unique, **params: Any) -> tuple[int, str]:
        answer = worker.rest.get(f"/connectors/{connector}/topics/{topic}/records", params=params)
        return answer.status_code, answer.json()["message"]

    assert values(records(worker, unique, mine)) == []
    assert refusal(other)[0] == 404 and "does not use topic" in refusal(other)[1]
    assert refusal(configs)[0] == 403
    assert refusal(f"{unique}-missing")[0] == 404 and refusal(mine, "missing")[0] == 404
    code, message = refusal(f"{unique}-m-absent")
    assert code == 404 and "does not exist" in message
    assert refusal(mine, partition=7) == (404, f"Topic {mine} has no partition 7; the highest is 0")
    for wrong in ({"from": "middle"}, {"limit": 0}, {"limit": 5000}, {"wait": 300}, {"partition": -1}):
        assert refusal(mine, **wrong)[0] == 400, wrong


def test_a_missing_topic_has_no_numbers(worker: WorkerProcess, unique: str, tmp_path: Path) -> None:
    create_sink(worker, unique, f"{unique}-none", tmp_path / "out")
    assert statistics(worker, unique) == [
        {
            "topic": f"{unique}-none",
            "direction": "reads",
            "partitions": None,
            "records": None,
            "bytes": None,
            "error": "It does not exist",
        }
    ]
