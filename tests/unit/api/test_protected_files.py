# SPDX-License-Identifier: Apache-2.0
"""What is the worker's own is not written to, by whatever name it goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.api import ConfigDef, ConfigError, ConfigType, WritablePath, protected_files
from headrace.api.protected_files import ensure_writable, protect, protected, write_refusal
from headrace.connectors.file_stream.file_stream_sink import FileStreamSinkConnector, FileStreamSinkTask
from headrace.connectors.spark_files.spark_file_source import SparkFileSourceConnector
from headrace.connectors.spark_sink.spark_sink import SparkSinkConnector
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings


@pytest.fixture(autouse=True)
def nothing_stays_protected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(protected_files, "_protected", frozenset())
    yield


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A protected directory, beside which any user may write."""
    directory = tmp_path / "own"
    directory.mkdir()
    protect([directory])
    return directory


def errors(values: list[object], name: str) -> list[str]:
    return [message for value in values if value.name == name for message in value.error_messages]  # type: ignore[attr-defined]


def test_nothing_is_protected_until_the_runtime_says_so(tmp_path: Path) -> None:
    assert protected() == frozenset()
    ensure_writable("file", str(tmp_path / "x"))


def test_what_is_within_is_refused_with_property_path_and_place(own: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        ensure_writable("file", f"{own}/below/x.py")
    assert raised.value.name == "file"
    assert f"'{own}/below/x.py'" in str(raised.value) and f"belongs to the worker ({own})" in str(raised.value)


def test_a_way_in_by_dots_links_and_other_names_is_none(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dir").symlink_to(own)
    (tmp_path / "file").symlink_to(own / "not-there-yet.py")
    (own / "x").write_text("")
    os.link(own / "x", tmp_path / "hard")
    protect([own / "x"])
    monkeypatch.chdir(tmp_path)
    ways = [
        own, own / ".", tmp_path / "other" / ".." / "own" / "x.py", tmp_path / "dir" / "x.py", tmp_path / "file",
        tmp_path / "hard", "own/x.py", f"/proc/self/root{own}/x.py", "/proc/self/cwd/own/x.py", f"//{own}/x.py",
    ]  # fmt: skip
    assert [str(way) for way in ways if write_refusal(str(way)) is None] == []


def test_neighbours_and_parents_are_free(own: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path / "elsewhere")
    free = [tmp_path, tmp_path / "own.txt", tmp_path / "own-2" / "x", own / ".." / "x", tmp_path / "other"]
    assert [str(path) for path in free if write_refusal(str(path)) is not None] == []


def test_a_protected_link_protects_what_it_leads_to_at_the_time(tmp_path: Path) -> None:
    link = tmp_path / "plugins"
    protect([link])
    assert write_refusal(str(tmp_path / "v2" / "x.py")) is None
    link.symlink_to(tmp_path / "v2")
    assert write_refusal(str(tmp_path / "v2" / "x.py")) is not None


def test_uris_are_understood_as_spark_does(own: Path) -> None:
    for uri in (f"file:{own}/x", f"file://{own}/x", f"file://host{own}/x", f"FILE:{own}", str(own)):
        assert write_refusal(uri, uri=True) is not None, uri
    for uri in (f"s3a://bucket{own}/x", f"hdfs:{own}/x", "file:", f"file:{own}%2fx"):
        assert write_refusal(uri, uri=True) is None, uri


def test_a_validator_for_plugins(own: Path) -> None:
    definition = ConfigDef().define("to", ConfigType.STRING, None, validator=WritablePath())
    assert definition.parse({})["to"] is None
    with pytest.raises(ConfigError, match="for configuration to: "):
        definition.parse({"to": str(own / "x")})


# ---- the connectors that write


def test_a_file_stream_sink_is_refused_by_validation_and_again_by_its_task(own: Path, tmp_path: Path) -> None:
    assert "belongs to the worker" in errors(FileStreamSinkConnector().validate({"file": f"{own}/x.py"}), "file")[0]
    link = tmp_path / "out"
    assert errors(FileStreamSinkConnector().validate({"file": str(link)}), "file") == []
    link.symlink_to(own / "x.py")
    with pytest.raises(ConfigError, match="belongs to the worker"):
        FileStreamSinkTask().start({"file": str(link)})
    assert list(own.iterdir()) == []


def test_a_spark_sink_is_refused_in_all_its_ways(own: Path, tmp_path: Path) -> None:
    base = {"name": "c", "spark.format": "csv"}
    cases = [
        ({"path": f"file://{own}/x"}, "path"),
        ({"spark.format": "delta", "table": f"delta.`{own}/x`"}, "table"),
        ({"spark.format": "delta", "table": "t", "spark.option.Path": str(own)}, "spark.option.Path"),
    ]
    for more, property in cases:
        assert "belongs to the worker" in errors(SparkSinkConnector().validate({**base, **more}), property)[0]
        with pytest.raises(ConfigError, match="belongs to the worker"):
            SinkSettings.of({**base, **more})
    settings = SinkSettings.of({**base, "path": f"{tmp_path}/${{topic}}"})
    settings.job("orders", [])
    with pytest.raises(ConfigError, match="belongs to the worker"):
        settings.job("own", [])


def test_a_file_source_neither_removes_nor_adds(own: Path, tmp_path: Path) -> None:
    base = {"topic": "t", "spark.format": "text", "path": str(own)}
    validate = SparkFileSourceConnector().validate
    assert errors(validate(base), "path") == []
    assert "belongs to the worker" in errors(validate({**base, "completed.action": "delete"}), "path")[0]
    moved = {**base, "path": str(tmp_path / "in"), "completed.action": "move", "completed.directory": str(own / "x")}
    assert "belongs to the worker" in errors(validate(moved), "completed.directory")[0]
