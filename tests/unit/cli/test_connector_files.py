# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.cli.connector_files import read_connector_file, read_connector_files
from headrace.model.state import TargetState

CONFIG = {"name": "lines", "connector.class": "FileStreamSource", "tasks.max": "1"}


def file(directory: Path, content: str, name: str = "connector.json") -> Path:
    path = directory / name
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.properties", "# a comment\nname=lines\nconnector.class = FileStreamSource\ntasks.max:1\n"),
        ("c.json", '{"name": "lines", "connector.class": "FileStreamSource", "tasks.max": 1}'),
        ("c.json", '{"name": "lines", "config": {"connector.class": "FileStreamSource", "tasks.max": "1"}}'),
        ("c.conf", ' {"name":"lines","config":{"name":"lines","connector.class":"FileStreamSource","tasks.max":"1"}}'),
        (
            "c.json",
            '{"name": "lines", "config": {"name": "lines", "connector.class": "FileStreamSource", "tasks.max": "1"}, '
            '"tasks": [{"connector": "lines", "task": 0}], "type": "source"}',
        ),
    ],
    ids=["properties", "flat JSON", "name and config", "by its content", "an answer of the REST API"],
)
def test_the_ways_to_describe_one_connector(tmp_path: Path, name: str, content: str) -> None:
    read = read_connector_file(file(tmp_path, content, name))
    assert (read.name, read.target_state) == ("lines", None)
    assert read.config == CONFIG


def test_an_initial_state(tmp_path: Path) -> None:
    path = file(tmp_path, '{"name": "lines", "config": {}, "initial_state": "PAUSED"}')
    assert read_connector_file(path).target_state is TargetState.PAUSED


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "Malformed JSON in the file"),
        ("[]", "Expected a JSON object in the file"),
        ('{"connector.class": "x"}', "it lacks the property name"),
        ('{"name": " "}', "it lacks the property name"),
        ('{"config": {}}', "it lacks name beside config"),
        ('{"name": "a", "config": {"name": "b"}}', "(b) doesn't match connector name in the request (a)"),
        ('{"name": "a", "x": {"y": 1}}', "The value of property 'x' must be a string"),
        ('{"name": "a", "config": {}, "initial_state": "ASLEEP"}', "Invalid value 'ASLEEP' for initial_state"),
    ],
)
def test_what_describes_none_is_reported_in_one_line(tmp_path: Path, content: str, text: str) -> None:
    path = file(tmp_path, content)
    with pytest.raises(ConfigError) as raised:
        read_connector_file(path)
    message = str(raised.value)
    assert message.startswith(f"Connector file {path}: ")
    assert text in message
    assert "\n" not in message


def test_properties_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it lacks the property name"):
        read_connector_file(file(tmp_path, "connector.class=x\n", "c.properties"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: No such file or directory"):
        read_connector_file(tmp_path / "none.json")


def test_two_files_for_one_connector(tmp_path: Path) -> None:
    first, second = file(tmp_path, "name=a\n", "1.properties"), file(tmp_path, '{"name": "a"}', "2.json")
    third = file(tmp_path, '{"name": "b"}', "3.json")
    assert [read.name for read in read_connector_files([third, first])] == ["b", "a"]
    with pytest.raises(ConfigError, match=r"2\.json: connector a is in .*1\.properties already"):
        read_connector_files([first, third, second])
