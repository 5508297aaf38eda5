# SPDX-License-Identifier: Apache-2.0
"""The commands for operators on real workers: headrace's, and Java Kafka Connect's for all that Java has."""

from __future__ import annotations

import json
from pathlib import Path

from bench.engines import Engine
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.conftest import Run
from tests.support.polling import wait_for
from tests.support.sinks import make_topic

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_the_life_of_a_connector(engine: Engine, run: Run, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    make_topic(broker.bootstrap_servers, unique)
    lines, config = tmp_path / "lines", tmp_path / "connector.properties"
    lines.write_text("one\ntwo\n")
    config.write_text(f"name={unique}\nconnector.class={FILE_SOURCE}\ntasks.max=1\nfile={lines}\ntopic={unique}\n")

    assert FILE_SOURCE in run("plugins", "ls", "-o", "name").splitlines()
    assert "batch.size" in run("plugins", "describe", FILE_SOURCE)
    run("config", "validate", "-f", str(config))
    assert (engine.rest.worker_id in run("cluster")) is (engine.name == "headrace")  # it runs nothing
    run("connectors", "create", "-f", str(config), "--wait")
    assert "already exists" in run("connectors", "create", "-f", str(config), code=1)
    assert run("connectors", "ls", "-o", "name") == f"{unique}\n"
    assert "1/1 running" in run("connectors", "ls")
    assert "RUNNING" in run("tasks", "ls", unique)
    cluster = run("cluster")
    assert engine.rest.worker_id in cluster and ("leader" in cluster) is (engine.name == "headrace")

    described = json.loads(run("connectors", "describe", unique, "-o", "json"))
    assert described["config"]["topic"] == unique
    assert (described["health"] is None) is (engine.name == "java")
    assert FILE_SOURCE in run("connectors", "describe", unique, "--config")
    shown = run("top", unique, "--tasks").splitlines()
    assert "tasks 1/1 running" in shown[0] and shown[4].split()[:3] == ["task", "0", "RUNNING"]
    assert ("HEALTH" in shown[2], "RECORDS/S" in shown[2]) == (engine.name == "headrace",) * 2
    assert f"  {unique}  task 0  RUNNING" in run("connectors", "watch", unique, "--timeout", "0")

    run("connectors", "pause", unique, "--wait")
    run("connectors", "resume", unique, "--wait")
    run("connectors", "restart", unique, "--tasks", "--wait")
    run("tasks", "restart", unique, "0")
    run("connectors", "patch", unique, "batch.size=10", "--wait")
    assert "batch.size" in run("connectors", "get", unique)

    offset = '{"position": 8}'
    wait_for(lambda: offset in run("offsets", "get", unique), 60, f"{offset} to be committed")
    assert "stopped" in run("offsets", "reset", unique, "--yes", code=1).lower()
    run("connectors", "stop", unique, "--wait")
    where = json.dumps({"filename": str(lines)})
    run("offsets", "set", unique, "--partition", where, "--offset", '{"position": 4}', "--yes")
    assert '{"position": 4}' in run("offsets", "get", unique)
    run("offsets", "reset", unique, "--yes")
    assert json.loads(run("offsets", "get", unique, "-o", "json")) == {"offsets": []}

    run("connectors", "delete", unique, "--yes", "--wait")
    assert "not found" in run("connectors", "get", unique, code=3).lower()


def test_mistakes_and_loggers(engine: Engine, run: Run, unique: str, tmp_path: Path) -> None:
    config = tmp_path / "connector.json"
    config.write_text(json.dumps({"name": unique, "config": {"connector.class": FILE_SOURCE, "batch.size": "many"}}))
    assert "mistakes: " in run("config", "validate", "-f", str(config), code=1)
    assert "batch.size" in run("connectors", "create", "-f", str(config), code=1)
    run("connectors", "pause", unique, code=3)

    logger = "org.apache.kafka.connect" if engine.name == "java" else "headrace.worker"
    run("loggers", "set", logger, "debug")
    assert run("loggers", "get", logger).split() == ["LOGGER", "LEVEL", logger, "DEBUG"]
    if engine.name == "java":
        assert "needs a headrace worker" in run("topics", "ls", code=1)
        assert "needs a headrace worker" in run("topics", "tail", unique, code=1)
        assert "needs a headrace worker" in run("logs", unique, code=1)
