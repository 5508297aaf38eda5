# SPDX-License-Identifier: Apache-2.0
"""What `headrace standalone` refuses before it has reached for anything."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.connector_files import ConnectorFile
from headrace.cli.main import app
from headrace.cli.standalone import create_connectors
from headrace.model.futures import done_future, failed_future


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, ours = root.handlers[:], root.level, logging.getLogger("headrace").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("headrace").setLevel(ours)


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
def test_a_users_mistake_is_told_in_one_line(
    tmp_path: Path, connectors: dict[str, str], changes: dict[str, str], text: str
) -> None:
    code, error = invoke(tmp_path, connectors, **changes)
    assert code == 2
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
    create_connectors(herder, [ConnectorFile(Path(f"{name}.json"), name, {}) for name in names])  # type: ignore[arg-type]
    return herder.calls


def test_connectors_are_created_in_order_and_awaited() -> None:
    assert create("a", "b") == ["put a", "put b", "started a", "started b"]


def test_what_cannot_be_created_is_told_with_its_file() -> None:
    with pytest.raises(ConfigError, match=r"^Connector file refused\.json: no such class$"):
        create("a", "refused", "b")
    with pytest.raises(ConnectError, match=r"^Connector file failing\.json: no database$") as raised:
        create("a", "failing")
    assert not isinstance(raised.value, ConfigError)
