# SPDX-License-Identifier: Apache-2.0
"""Checks of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.doctor import machine
from headrace.doctor.findings import Level
from headrace.doctor.machine import Directory, Memory
from headrace.doctor.subject import Subject


@pytest.mark.parametrize(("version", "level"), [((3, 10, 4), Level.PROBLEM), ((3, 11, 0), Level.OK)])
def test_python(version: tuple[int, ...], level: Level) -> None:
    assert machine.python_finding(version, "CPython").level is level


def test_a_machine_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_HIDE_SYSTEM_JAVA", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (finding,) = machine.check_java(Subject())
    assert finding.level is Level.PROBLEM
    assert "No Java 17 or 21" in finding.found and "headrace[jvm]" in finding.remedy


def test_a_java_home_that_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = [*machine.check_java(Subject())]
    assert [each.level for each in found] == [Level.OK, Level.WARNING]
    assert f"JAVA_HOME={tmp_path}" in found[1].found


@pytest.mark.parametrize(
    ("memory", "heap", "level"),
    [
        (Memory(8000), "512m", Level.OK),
        (Memory(1200), "512m", Level.WARNING),
        (Memory(900), "512m", Level.PROBLEM),
        (Memory(8000), "16g", Level.PROBLEM),
        (Memory(8000, limit=700), "512m", Level.PROBLEM),
        (Memory(8000), "much", Level.PROBLEM),
    ],
)
def test_memory(memory: Memory, heap: str, level: Level) -> None:
    assert machine.memory_finding(memory, heap).level is level


@pytest.mark.parametrize(("soft", "level"), [(256, Level.PROBLEM), (1024, Level.WARNING), (65536, Level.OK)])
def test_open_files(soft: int, level: Level) -> None:
    assert machine.open_files_finding(soft, 65536).level is level


@pytest.mark.parametrize(
    ("directory", "level"),
    [
        (Directory("/tmp", "TMPDIR", 5000), Level.OK),
        (Directory("/tmp", "TMPDIR", 500), Level.WARNING),
        (Directory("/tmp", "TMPDIR", 5), Level.PROBLEM),
        (Directory("/tmp", "TMPDIR", 5000, "it cannot be written to"), Level.PROBLEM),
        (Directory("/" + "t" * 70, "TMPDIR", 5000), Level.WARNING),
    ],
)
def test_temporary_files(directory: Directory, level: Level) -> None:
    assert machine.directory_finding(directory, sockets=True).level is level


def test_a_local_directory_of_spark_that_does_not_exist(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    found = [*machine.check_temporary_files(Subject(raw={"spark.local.dir": str(missing)}))]
    assert found[-1].level is Level.PROBLEM
    assert f"spark.local.dir={missing}: No such file" in found[-1].found
