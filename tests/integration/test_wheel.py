# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed with its dependencies into an environment of its own, outside of the repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.dataset as ds
import pytest

from headrace import __version__
from headrace.connectors.sample.orders_source import order
from tests.support.processes import kill_all

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]
MARK = "HEADRACE_TEST_OF_WHEEL"
"""An environment variable that shows which processes were started by this test."""
CONNECTOR = '''\
"""A clock: one record a second."""

import time
from collections.abc import Mapping

from headrace.api import ConfigDef, ConfigType, SourceConnector, SourceRecord, SourceTask, Task


class ClockSourceConnector(SourceConnector):
    def config(self) -> ConfigDef: return ConfigDef().define("topic", ConfigType.STRING)
    def start(self, props: Mapping[str, str]) -> None: self.props = dict(props)
    def task_class(self) -> type[Task]: return ClockSourceTask
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]: return [self.props]
    def stop(self) -> None: pass


class ClockSourceTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None: self.topic = props["topic"]
    def poll(self) -> list[SourceRecord]:
        time.sleep(1)
        return [SourceRecord({"clock": "utc"}, {"at": time.time()}, self.topic, value=time.ctime())]
    def stop(self) -> None: pass
'''
ALL_HELP = """\
import json, sys
import click, typer
from typer.testing import CliRunner
import headrace
from headrace.cli.main import app

def paths(command, path=()):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from paths(below, (*path, name))

found = {" ".join(path): CliRunner().invoke(app, [*path, "--help"]) for path in paths(typer.main.get_command(app))}
print(json.dumps({"file": headrace.__file__, "codes": {path: each.exit_code for path, each in found.items()}}))
"""


class Environment:
    """A virtual environment outside of the repository, with the wheel and mypy in the locked versions."""

    def __init__(self, directory: Path, temporary: Path) -> None:
        self.directory = directory
        self.bin = directory / "venv" / "bin"
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        self._variables = {name: text for name, text in os.environ.items() if name not in hidden}
        self._variables |= {"PATH": f"{self.bin}:{os.environ['PATH']}", MARK: str(directory)}
        self.temporary = temporary
        self._variables["TMPDIR"] = str(temporary)
        self.wheel = self._build()
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True, timeout=300)
        constraints = directory / "constraints.txt"
        constraints.write_text("\n".join(locked_versions()))
        self._pip("install", "--constraint", str(constraints), str(self.wheel), "mypy")

    def run(self, program: str, *arguments: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        command = [str(self.bin / program), *arguments]
        return subprocess.run(
            command, cwd=self.directory, env=self._variables, capture_output=True, text=True, timeout=seconds
        )

    def processes(self) -> list[psutil.Process]:
        """Those that were started here, directly or not, and run."""
        return [process for process in psutil.process_iter() if _environment(process).get(MARK) == str(self.directory)]

    def _build(self) -> Path:
        self._pip("wheel", "--no-deps", "--wheel-dir", str(self.directory), str(ROOT), python=Path(sys.executable))
        [wheel] = self.directory.glob("headrace-*.whl")
        return wheel

    def _pip(self, *arguments: str, python: Path | None = None) -> None:
        command = [str(python or self.bin / "python"), "-m", "pip", *arguments, "--quiet"]
        ended = subprocess.run(command, env=self._variables, capture_output=True, text=True, timeout=1200)
        if "Could not find a version" in ended.stderr or "NewConnectionError" in ended.stderr:
            pytest.skip(f"pip reaches no index: {ended.stderr.strip().splitlines()[-1]}")
        assert ended.returncode == 0, ended.stderr


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


def locked_versions() -> list[str]:
    """Without hashes: with them pip would demand one of the wheel, too."""
    return re.findall(r"(?m)^[\w.-]+==\S+", (ROOT / "requirements-dev.lock").read_text())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    # Paths of sockets are limited to a hundred characters, and pytest's directories are long.
    with tempfile.TemporaryDirectory(prefix="qs-", ignore_cleanup_errors=True) as temporary:
        environment = Environment(tmp_path_factory.mktemp("installed"), Path(temporary))
        yield environment
        kill_all(environment.processes())


def test_the_wheel_has_its_types_and_licences(installed: Environment) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(f"headrace-{__version__}.dist-info/METADATA").decode()
    assert {"headrace/py.typed", "headrace/broker/pins/broker.sha256"} <= names
    static = ROOT / "src" / "headrace" / "console" / "static"
    files = {str(path.relative_to(ROOT / "src")) for path in static.rglob("*") if path.is_file()}
    assert files and files <= names
    assert {f"headrace-{__version__}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= names
    assert {name.partition("/")[0] for name in names} == {"headrace", f"headrace-{__version__}.dist-info"}
    assert "Description-Content-Type: text/markdown" in metadata


def test_every_command_has_help(installed: Environment) -> None:
    assert installed.run("headrace", "--version").stdout == f"headrace {__version__}\n"
    ended = installed.run("python", "-c", ALL_HELP)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert Path(found["file"]).is_relative_to(installed.directory)
    assert {path for path, code in found["codes"].items() if code} == set()
    assert {"quickstart", "distributed", "connectors create", "offsets get"} <= found["codes"].keys()


def test_a_short_connector_is_typed(installed: Environment) -> None:
    file = installed.directory / "clock_source.py"
    file.write_text(CONNECTOR)
    ended = installed.run("mypy", "--strict", str(file))
    assert ended.returncode == 0, ended.stdout
    file.write_text(CONNECTOR.replace("self.topic, value=", "1, value="))
    assert 'incompatible type "int"' in installed.run("mypy", "--strict", str(file)).stdout


def test_a_quickstart_of_the_wheel(installed: Environment) -> None:
    ended = installed.run("headrace", "quickstart", "--seconds", "3", seconds=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    print(ended.stdout)
    assert "Each record is there exactly once." in ended.stdout
    assert installed.processes() == []
    [directory] = installed.temporary.iterdir()
    rows = ds.dataset(directory / "orders", format="parquet").to_table().to_pylist()
    assert rows
    ids = sorted(row["id"] for row in rows)
    assert ids == list(range(1, len(rows) + 1))
    assert all({**row, "kafka_offset": 0} == {**order(row["id"]).as_dict(), "kafka_offset": 0} for row in rows)
