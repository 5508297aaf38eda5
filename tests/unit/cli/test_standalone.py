# SPDX-License-Identifier: Apache-2.0
"""What `headrace standalone` refuses before it has reached for anything."""

from __future__ import annotations

import json
import logging
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.connector_files import ConnectorFile
from headrace.cli.main import app
from headrace.cli.standalone import create_connectors
from headrace.logs.audit import AUDIT
from headrace.model.futures import done_future, failed_future
from headrace.spark.task.spark_task_launcher import SparkTaskLauncher


def invoke(directory: Path, connectors: dict[str, str], **changes: str) -> tuple[int, str]:
    """The exit code, and the line on standard error."""
    properties = {
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "listeners": "http://127.0.0.1:0",
        "offset.storage.file.filename": str(directory / "offsets"),
    } | {key.replace("_", "."): text for key, text in changes.items()}
    worker = directory / "worker.properties"
    worker.write_text("".join(f"{key}={text}\n" for key, text in properties.items()))
    for name, content in connectors.items():
        (directory / name).write_text(content)
    files = [str(directory / name) for name in connectors]
    result = CliRunner().invoke(app, ["standalone", str(worker), *files])
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1, result.stderr
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("connectors", "changes", "text"),
    [
        ({"c.json": "{"}, {}, "c.json: Malformed JSON"),
        ({"c.properties": "x=y\n"}, {}, "c.properties: it lacks the property name"),
        ({"1.json": '{"name":"a"}', "2.json": '{"name":"a"}'}, {}, "connector a is in"),
        ({}, {"offset_storage_file_filename": ""}, "offset.storage.file.filename"),
        ({}, {"exactly_once_source_support": "enabled"}, "at-least-once"),
        ({}, {"value_converter": "NoSuchConverter"}, "NoSuchConverter"),
        ({}, {"offset_storage_file_filename": "/no/such/directory/offsets"}, "No such file or directory"),
    ],
)
def test_a_users_mistake_is_reported_in_one_line(
    tmp_path: Path, connectors: dict[str, str], changes: dict[str, str], text: str
) -> None:
    code, error = invoke(tmp_path, connectors, **changes)
    assert code == 2
    assert text in error


@pytest.mark.parametrize(
    ("config", "changes", "text"),
    [
        ({}, {"value_converter": "NoSuchConverter"}, "NoSuchConverter"),
        ({}, {"header_converter": "NoSuchConverter"}, "NoSuchConverter"),
        ({"connector.class": "NoSuchConnector"}, {}, "c.json: Invalid value 'NoSuchConnector'"),
    ],
)
def test_a_class_that_does_not_exist_is_refused_before_spark_is_started(
    tmp_path: Path, config: dict[str, str], changes: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[SparkTaskLauncher] = []
    monkeypatch.setattr(SparkTaskLauncher, "prepare", started.append)
    code, error = invoke(tmp_path, {"c.json": json.dumps({"name": "c", **config})}, **changes)
    assert (code, started) == (2, []), error
    assert text in error


class Herder:
    """Refuses one name and fails to start another."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def put_connector_config(self, name: str, *args: Any, **more: Any) -> Future[None]:
        self.calls.append(f"put {name}")
        return failed_future(ConnectError("no such class")) if name == "refused" else done_future(None)

    def connector_started(self, name: str) -> Future[None]:
        self.calls.append(f"started {name}")
        return failed_future(ConnectError("no database")) if name == "failing" else done_future(None)


def create(*names: str) -> list[str]:
    herder = Herder()
    files = [ConnectorFile(Path(f"{name}.json"), name, {}) for name in names]
    create_connectors(herder, files, "w:8083")  # type: ignore[arg-type]
    return herder.calls


def test_connectors_are_created_in_order_and_awaited() -> None:
    assert create("a", "b") == ["put a", "put b", "started a", "started b"]


def test_the_audit_has_a_line_for_each_file(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, AUDIT), pytest.raises(ConfigError):
        create("a", "refused", "b")
    lines = [record.getMessage() for record in caplog.records if record.name == AUDIT]
    assert lines == [
        'audit who=file worker=w:8083 what="connector a of a.json" connector=a result=done',
        'audit who=file worker=w:8083 what="connector refused of refused.json" connector=refused result=failed',
    ]


def test_what_cannot_be_created_is_reported_with_its_file() -> None:
    with pytest.raises(ConfigError, match=r"^Connector file refused\.json: no such class$"):
        create("a", "refused", "b")
    with pytest.raises(ConnectError, match=r"^Connector file failing\.json: no database$") as raised:
        create("a", "failing")
    assert not isinstance(raised.value, ConfigError)
