# SPDX-License-Identifier: Apache-2.0
"""`headrace plan`, `apply` and `export` on real workers, headrace's and Java Kafka Connect's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.engines import Engine
from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.conftest import Run
from tests.integration.test_command_line import FILE_SOURCE
from tests.support.polling import wait_for
from tests.support.sinks import make_topic

FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def configs(engine: Engine) -> dict[str, Any]:
    """The configurations of all connectors, as their worker has them."""
    found = engine.rest.get("/connectors?expand=info")
    return {name: each["info"]["config"] for name, each in found.items()}


def states(engine: Engine) -> dict[str, str]:
    found = engine.rest.get("/connectors?expand=status")
    return {name: each["status"]["connector"]["state"] for name, each in found.items()}


@pytest.fixture
def connectors(broker: EmbeddedBroker, unique: str, tmp_path: Path) -> dict[str, Any]:
    """A source, a sink that is paused, and a connector that is stopped; with a label each."""
    make_topic(broker.bootstrap_servers, unique)
    (tmp_path / "lines").write_text("one\ntwo\n")
    common = {"tasks.max": "1", "headrace.labels": unique}
    source = {"connector.class": FILE_SOURCE, "file": f"{tmp_path}/lines", "topic": unique, **common}
    sink = {"connector.class": FILE_SINK, "file": f"{tmp_path}/out", "topics": unique, **common}
    return {
        f"{unique}-source": source,
        f"{unique}-sink": {"state": "PAUSED", "config": sink},
        f"{unique}-stopped": {"state": "STOPPED", "config": {**source, "topic": f"{unique}-2"}},
    }


@pytest.fixture
def file(connectors: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump(connectors))
    return path


def test_files_and_cluster(
    engine: Engine, run: Run, connectors: dict[str, Any], file: Path, unique: str, tmp_path: Path
) -> None:
    assert "Plan: 3 to create" in run("plan", "-f", str(file))
    run("plan", "-f", str(file), "--detailed-exitcode", code=2)
    applied = run("apply", "-f", str(file), "--yes")
    assert "3 of 3 connectors are as planned and healthy" in applied
    assert states(engine) == {f"{unique}-source": "RUNNING", f"{unique}-sink": "PAUSED", f"{unique}-stopped": "STOPPED"}
    assert "No changes: 3 connectors" in run("plan", "-f", str(file))
    for form in ("yaml", "json", "properties"):
        run("export", "-d", f"{tmp_path}/{form}", "-o", form)
        assert "No changes: 3 connectors" in run("plan", "-f", f"{tmp_path}/{form}", "--detailed-exitcode")

    # Validation by the worker, of all connectors at once.
    mistakes = {name: {**connectors[f"{unique}-source"], "batch.size": "many"} for name in ("x", "y")}
    (tmp_path / "mistakes.yaml").write_text(yaml.safe_dump(mistakes))
    said = run("plan", "-f", f"{tmp_path}/mistakes.yaml", code=1)
    assert "connector x, batch.size" in said and "connector y, batch.size" in said

    # What changes, with the offsets that it concerns.
    wait_for(lambda: "position" in run("offsets", "get", f"{unique}-source"), 60, "an offset")
    connectors[f"{unique}-source"]["file"] = f"{tmp_path}/others"
    (tmp_path / "others").write_text("three\n")
    connectors[f"{unique}-stopped"] = connectors[f"{unique}-stopped"]["config"] | {"topic": unique}
    file.write_text(yaml.safe_dump(connectors))
    planned = run("plan", "-f", str(file), "--plan-file", f"{tmp_path}/plan.json")
    assert "a source partition is named by the former file" in planned
    assert "Plan: 0 to create, 2 to change, 0 to delete, 1 without changes." in planned

    # A plan holds until the cluster changes.
    run("connectors", "patch", f"{unique}-source", "batch.size=10")
    wait_for(lambda: configs(engine)[f"{unique}-source"].get("batch.size") == "10", 60, "the change")
    refused = run("apply", "--plan-file", f"{tmp_path}/plan.json", "--yes", code=1)
    assert f"connector {unique}-source was changed in the cluster since" in refused
    assert configs(engine)[f"{unique}-source"]["file"] == f"{tmp_path}/lines"
    run("plan", "-f", str(file), "--plan-file", f"{tmp_path}/plan.json")
    run("apply", "--plan-file", f"{tmp_path}/plan.json", "--yes")
    assert configs(engine)[f"{unique}-source"]["file"] == f"{tmp_path}/others"
    assert states(engine)[f"{unique}-stopped"] == "STOPPED"

    # Only what has the label is deleted.
    (tmp_path / "unlabelled.yaml").write_text(yaml.safe_dump({f"{unique}-kept": {**mistakes["x"], "batch.size": "5"}}))
    text = (tmp_path / "unlabelled.yaml").read_text().replace(f"headrace.labels: {unique}", "headrace.labels: other")
    (tmp_path / "unlabelled.yaml").write_text(text)
    run("apply", "-f", f"{tmp_path}/unlabelled.yaml", "--yes")
    del connectors[f"{unique}-source"]
    file.write_text(yaml.safe_dump(connectors))
    assert "- " not in run("plan", "-f", str(file))
    run("apply", "-f", str(file), "--yes", "--prune", unique)
    assert set(configs(engine)) == {f"{unique}-sink", f"{unique}-stopped", f"{unique}-kept"}


def test_what_fails_is_rolled_back(
    engine: Engine, run: Run, connectors: dict[str, Any], file: Path, unique: str, tmp_path: Path
) -> None:
    run("apply", "-f", str(file), "--yes")
    before, former_states = configs(engine), states(engine)
    connectors[f"{unique}-source"]["file"] = f"{tmp_path}/others"
    connectors[f"{unique}-stopped"]["state"] = "PAUSED"
    connectors[f"{unique}-a-new"] = {**connectors[f"{unique}-source"], "topic": f"{unique}-2"}
    connectors[f"{unique}-b-bad"] = {
        **connectors[f"{unique}-sink"]["config"],
        "file": f"{tmp_path}/missing/directory/out",
    }
    del connectors[f"{unique}-sink"]
    file.write_text(yaml.safe_dump(connectors))
    said = run("apply", "-f", str(file), "--yes", "--rollback-on-failure", "--prune", unique, code=2)
    assert f"Connector {unique}-b-bad: task 0 FAILED: " in said
    assert "Rolling back 5 changes" in said and "is not rolled back" not in said
    assert configs(engine) == before
    wait_for(lambda: states(engine) == former_states, 60, "the former states")


def test_an_apply_that_is_killed_and_run_again(
    engine: Engine, run: Run, connectors: dict[str, Any], file: Path, unique: str, tmp_path: Path
) -> None:
    run("apply", "-f", str(file), "--yes")
    source = connectors[f"{unique}-source"]
    connectors[f"{unique}-source"] = {**source, "batch.size": "7"}
    for number in range(16):
        config = {**source, "topic": f"{unique}-{number}"}
        connectors[f"{unique}-n{number:02}"] = {"state": "STOPPED" if number % 8 else "RUNNING", "config": config}
    connectors[f"{unique}-zzz"] = connectors.pop(f"{unique}-stopped")
    file.write_text(yaml.safe_dump(connectors))
    arguments = ("apply", "--plan-file", f"{tmp_path}/plan.json", "--yes")
    run("plan", "-f", str(file), "--prune", unique, "--plan-file", f"{tmp_path}/plan.json")

    environment = {**os.environ, "HEADRACE_URL": engine.rest.url, "XDG_CONFIG_HOME": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-m", "headrace", *arguments], env=environment)
    wait_for(lambda: len(engine.rest.get("/connectors") or ()) >= 8, 60, "some connectors")
    process.kill()
    assert process.wait() == -9
    assert len(engine.rest.get("/connectors")) < 19

    applied = run(*arguments)
    assert "19 of 19 connectors are as planned and healthy" in applied
    wanted = {name: {**each.get("config", each), "name": name} for name, each in connectors.items()}
    assert configs(engine) == wanted
    assert states(engine) == {name: each.get("state", "RUNNING") for name, each in connectors.items()}
    assert "No changes: 19 connectors" in run("plan", "-f", str(file), "--prune", unique, "--detailed-exitcode")
