# SPDX-License-Identifier: Apache-2.0
"""Connectors whose names are those of other directories, or of other connectors where capitals do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.rest.raw_path import encoded
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.spark_sinks import create_spark_sink, json_rows, walked
from tests.support.worker_process import WorkerProcess

NAMES = ["..", "sink", "Sink", "ü" * 150]


def test_each_has_its_records_once_below_its_path_and_nowhere_else(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    path = tmp_path / "above" / "target"
    path.mkdir(parents=True)
    make_topic(broker.bootstrap_servers, unique)
    send(broker.bootstrap_servers, unique, [b'{"n":%d}' % n for n in range(5)])
    config = {"spark.format": "json", "path": str(path), "value.schema": "n INT"}
    try:
        for name in NAMES:
            create_spark_sink(worker, name, unique, **config)
        expected = sorted(list(range(5)) * len(NAMES))
        numbers = lambda: sorted(row["n"] for row in json_rows(path))  # noqa: E731
        wait_for(lambda: numbers() == expected, 60, lambda: f"{numbers()}\n{worker.log[-3000:]}")
        wait_for(lambda: not list(path.rglob("files-*")), 30, "an end of writing")
        inside = {file.relative_to(path).parts[0] for file in walked(path) if file.parent != path}
        assert inside == {"_headrace"}
        assert [file for file in walked(tmp_path) if not file.is_relative_to(path)] == []
        assert len({directory.name.lower() for directory in (path / "_headrace").iterdir()}) == len(NAMES)
    finally:
        for name in NAMES:
            worker.rest.delete(f"/connectors/{encoded(name)}")


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", "a\x7fb"])
def test_names_with_control_characters_or_nothing_in_them_are_refused(worker: WorkerProcess, name: str) -> None:
    config = {"connector.class": "MockSource", "tasks.max": "1"}
    answer = worker.rest.post("/connectors", json={"name": name, "config": config})
    assert answer.status_code == 400, answer.text
