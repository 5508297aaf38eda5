# SPDX-License-Identifier: Apache-2.0
"""The connectors that a worker runs, and the tasks that it accepts from the config topic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.connectors.file_stream.file_stream_source import FileStreamSourceConnector, FileStreamSourceTask
from headrace.plugins.discovery import Plugins, plugins_of

NAMES = [
    "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "FileStreamSource",
    "FileStreamSourceConnector",
    "headrace.connectors.file_stream_source:FileStreamSourceConnector",
    "headrace.connectors.file_stream_source.FileStreamSourceConnector",
    "headrace.connectors.file_stream.file_stream_source:FileStreamSourceConnector",
    "headrace.connectors.file_stream.file_stream_source.FileStreamSourceConnector",
]


class Elsewhere(FileStreamSourceTask):
    """A task's class in a module from which no worker imports what users name."""


Elsewhere.__module__ = "some.where"


class GivingConnector(FileStreamSourceConnector):
    def task_class(self) -> type[Any]:
        return Elsewhere


class BesideTask(FileStreamSourceTask):
    pass


class BesideConnector(FileStreamSourceConnector):
    def task_class(self) -> type[Any]:
        return BesideTask


class LateConnector(FileStreamSourceConnector):
    """Knows the class of its tasks when it is started."""

    def task_class(self) -> type[Any]:
        raise AttributeError("not started")


def with_lists(allowed: str = "", denied: str = "", **more: str) -> Plugins:
    return plugins_of({"connectors.allowlist": allowed, "connectors.denylist": denied, **more})


@pytest.mark.parametrize("listed", [*NAMES, "FileStreamSo*", "*.file_stream_source:*", "org.*.FileStreamSource*"])
def test_a_list_knows_a_connector_by_all_its_names(listed: str) -> None:
    for name in NAMES:
        with pytest.raises(ConfigError, match=r"for configuration connector\.class: .* connectors\.denylist has"):
            with_lists(denied=listed).connector(name)
        with pytest.raises(ConfigError, match=r"connectors\.denylist has"):
            with_lists(allowed=listed, denied=listed).connector(name)
        assert with_lists(allowed=listed).connector(name) is FileStreamSourceConnector
    with pytest.raises(ConfigError, match=r"connectors\.allowlist does not have it"):
        with_lists(allowed=listed).connector("SparkSink")
    assert with_lists(denied=listed).connector("SparkSink")


def test_what_does_not_run_is_not_listed() -> None:
    infos = with_lists("File*", "FileStreamSink").describe()
    assert [info.class_name for info in infos if info.type in ("source", "sink")] == [NAMES[0]]
    assert [info for info in infos if info.type == "converter"]


def test_what_is_denied_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "denied_plugin.py").write_text("raise SystemExit('it was')")
    with pytest.raises(ConfigError, match=r"connectors\.denylist has 'denied_plugin\*'"):
        with_lists(denied="denied_plugin*", **{"plugin.path": str(tmp_path)}).connector("denied_plugin:X")


def test_another_modules_name_for_a_class_is_no_way_round() -> None:
    plugins = with_lists(denied="FileStreamSource", **{"plugin.module.prefixes": "*"})
    with pytest.raises(ConfigError, match=r"connectors\.denylist has 'FileStreamSource'"):
        plugins.connector(f"{__name__}:FileStreamSourceConnector")


def test_names_that_exclude_no_connector_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with_lists(denied="FileStreamSnik,FileStreamSink,Fail*").warn_of_plugins()
    assert [record.getMessage() for record in caplog.records] == [
        "connectors.denylist: no connector is known as FileStreamSnik"
    ]


# ---- task.class


def test_a_tasks_class_is_its_connectors_choice() -> None:
    plugins = plugins_of({})
    assert plugins.task_target("some.where.Elsewhere", GivingConnector) == "some.where:Elsewhere"
    assert plugins.task_target(f"{__name__}.Whichever", LateConnector) == f"{__name__}:Whichever"


@pytest.mark.parametrize("name", ["some.where.Task", "os:path", "some.where:Elsewhere"])
def test_a_tasks_class_from_anywhere_else_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"for configuration task\.class: it is no task of") as raised:
        plugins_of({}).task_target(name, FileStreamSourceConnector)
    assert "plugin.module.prefixes" in str(raised.value)
    assert plugins_of({"plugin.module.prefixes": "some,os"}).task_target(name, FileStreamSourceConnector)


def test_a_refused_connectors_task_does_not_run_for_another_one() -> None:
    sink = with_lists().connector("FileStreamSink")
    plugins = with_lists(denied="FileStreamSource")
    assert plugins.task_target("FileStreamSinkTask", sink)
    with pytest.raises(ConfigError, match=r"for configuration task\.class: it is no task of .*FileStreamSink"):
        plugins.task_target("FileStreamSourceTask", sink)


def test_nor_does_one_that_is_beside_it() -> None:
    beside = f"{__name__}.BesideTask"
    assert with_lists().task_target(beside, LateConnector)
    assert with_lists(denied="LateConnector").task_target(beside, LateConnector)
    with pytest.raises(ConfigError, match=r"for configuration task\.class: .* connectors\.denylist has"):
        with_lists(denied="BesideConnector").task_target(beside, LateConnector)
