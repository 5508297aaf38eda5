# SPDX-License-Identifier: Apache-2.0
"""What executors get, and that Python finds it there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.api.errors import RetriableError
from headrace.config.worker_config import PLUGIN_PATH
from headrace.java.jar_cache import JarCache
from headrace.java.jvm import runtime_jars
from headrace.java.scan import scan
from headrace.model.ids import ConnectorTaskId
from headrace.spark.engine.shipment import Shipment, plugin_settings
from headrace.spark.process.python_path import PLUGIN_PATH_VARIABLE
from headrace.task.task_spec import TaskKind, TaskSpec
from tests.unit.jars import shop_plugin

SPEC = TaskSpec(ConnectorTaskId("c", 0), TaskKind.SOURCE, "m:C", {}, {}, {}, {}, {}, "offsets", True)
PYTHON_PATH = "spark.executorEnv.PYTHONPATH"
CACHE = "spark.executorEnv.HEADRACE_CACHE_DIR"
PLUGINS = f"spark.executorEnv.{PLUGIN_PATH_VARIABLE}"


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A directory as `plugin.path` names it."""
    directory = tmp_path / "plugins"
    (directory / "package" / "__pycache__").mkdir(parents=True)
    (directory / ".git").mkdir()
    (directory / "package" / "__init__.py").touch()
    (directory / "package" / "data.txt").write_text("data")
    (directory / "package" / "__pycache__" / "x.pyc").touch()
    (directory / ".git" / "config").touch()
    (directory / "single.py").write_text("NAME = 'single'\n")
    return directory


def install(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a plugin in this process' path."""
    (directory / "other_plugin").mkdir()
    (directory / "other_plugin" / "__init__.py").write_text("class Sink: ...\n")
    metadata = directory / "other_plugin-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-plugin\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text("[headrace.connectors]\nOther = other_plugin:Sink\n")
    monkeypatch.syspath_prepend(str(directory))


def unpacked(shipment: Shipment, directory: Path) -> Path:
    """As an executor has it: the working directory with the archive's content below the name it is given."""
    archive, _, name = shipment.pack().partition("#")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(directory / name)
    return directory


def test_python_finds_headrace_and_plugins_by_relative_paths(
    tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site, monkeypatch)
    shipment = Shipment(tmp_path, [str(plugins)])
    there = unpacked(shipment, tmp_path / "executor")
    settings = shipment.settings({})
    code = (
        "import headrace.spark.process.machine, other_plugin, os, sys\n"
        "from headrace.spark.process.python_path import plugin_directories\n"
        "from headrace.plugins.discovery import Plugins\n"
        "sys.path += plugin_directories(os.environ)\n"
        "import single, package\n"
        "print(headrace.__file__, single.__file__, package.__file__, other_plugin.__file__)\n"
        "print([k.target for k in Plugins()._known if 'Other' in k.names()])\n"
    )
    environment = {
        "PYTHONPATH": f"{settings[PYTHON_PATH]}:{_libraries(tmp_path)}",
        PLUGIN_PATH_VARIABLE: settings[PLUGINS],
    }
    ended = subprocess.run(
        [getattr(sys, "_base_executable", sys.executable), "-c", code],
        cwd=there, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    files, known = ended.stdout.splitlines()
    assert all(Path(file).is_relative_to(there) for file in files.split()), files
    assert known == "['other_plugin:Sink']"


def _libraries(tmp_path: Path) -> Path:
    """What this environment has but headrace."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "headrace" not in entry.name:
            (libraries / entry.name).symlink_to(entry)
    return libraries


def test_what_is_compiled_or_hidden_is_left_out(tmp_path: Path, plugins: Path) -> None:
    there = unpacked(Shipment(tmp_path, [str(plugins)]), tmp_path / "executor")
    found = {str(file.relative_to(there)) for file in there.rglob("*") if file.is_file()}
    assert {name for name in found if name.startswith("headrace-shipped/plugins/")} == {
        "headrace-shipped/plugins/0/package/__init__.py",
        "headrace-shipped/plugins/0/package/data.txt",
        "headrace-shipped/plugins/0/single.py",
    }
    assert "headrace-shipped/packages/headrace/spark/process/daemon.py" in found
    assert not [name for name in found if name.endswith(".pyc")]


def test_the_name_has_the_checksum(tmp_path: Path, plugins: Path) -> None:
    def name(worker: str) -> str:
        (tmp_path / worker).mkdir(exist_ok=True)
        return Path(Shipment(tmp_path / worker, [str(plugins)]).pack()).name

    assert name("one") == name("two")
    before = name("one")
    (plugins / "package" / "data.txt").write_text("DATA")
    assert name("two") != before


def test_it_is_packed_once(tmp_path: Path, plugins: Path) -> None:
    """Even if a plugin has changed meanwhile: all tasks of a worker run the same."""
    shipment = Shipment(tmp_path, [str(plugins)])
    packed = shipment.pack()
    written = Path(packed.partition("#")[0]).stat()
    (plugins / "package" / "data.txt").write_text("DATA")
    assert shipment.pack() == packed
    assert Path(packed.partition("#")[0]).stat() == written


def test_a_task_gets_the_plugin_path(tmp_path: Path, plugins: Path) -> None:
    wheel = tmp_path / "plugin.whl"
    wheel.touch()
    spec = replace(SPEC, worker_config={PLUGIN_PATH: f"{plugins},{wheel}", "key.converter": "k"})
    relocated = Shipment(tmp_path, [str(plugins), str(wheel)]).relocated(spec)
    places = "headrace-shipped/plugins/0,headrace-shipped/plugins/1/plugin.whl"
    assert relocated == replace(spec, worker_config={PLUGIN_PATH: places, "key.converter": "k"})
    assert Shipment(tmp_path, []).relocated(spec) is spec


def test_what_the_user_has_executors_find_comes_after_ours(tmp_path: Path) -> None:
    settings = Shipment(tmp_path, []).settings({PYTHON_PATH: "/shared/lib", "spark.executorEnv.OTHER": "x"})
    assert settings == {
        PYTHON_PATH: f"headrace-shipped/packages{os.pathsep}/shared/lib",
        CACHE: "headrace-shipped/cache",
    }


def test_a_cache_directory_that_executors_are_given_is_theirs(tmp_path: Path) -> None:
    assert Shipment(tmp_path, []).settings({CACHE: "/shared/cache"})[CACHE] == "/shared/cache"


def test_on_this_machine_plugins_are_where_they_are(plugins: Path) -> None:
    assert plugin_settings([str(plugins), "relative"]) == {
        PLUGINS: f"{plugins}{os.pathsep}{Path('relative').absolute()}"
    }
    assert plugin_settings([]) == {}


def test_jars_of_java_plugins_are_found_where_they_are_unpacked(
    tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop_plugin(plugins)
    monkeypatch.setattr("headrace.spark.engine.shipment.runtime_jars", lambda: ())
    jars = {path.relative_to(plugins): path.read_bytes() for path in plugins.rglob("*.jar")}
    shipment = Shipment(tmp_path, [str(plugins)])
    with zipfile.ZipFile(shipment.pack().partition("#")[0]) as archive:
        packed = [entry for entry in archive.infolist() if entry.filename.endswith(".jar")]
    assert {entry.compress_type for entry in packed} == {zipfile.ZIP_STORED}
    shutil.rmtree(plugins)
    monkeypatch.chdir(unpacked(shipment, tmp_path / "executor"))
    place = Path(shipment.relocated(SPEC).worker_config[PLUGIN_PATH])
    found = scan([place], JarCache(tmp_path / "cache"))
    assert {plugin.class_name for plugin in found} == {"shop.ShopSourceConnector", "shop.ShopSourceTask"}
    assert {jar.relative_to(place.absolute()): jar.read_bytes() for jar in found[0].jars} == jars


@pytest.fixture
def kafkas_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This user's cache directory, as it is after Kafka Connect's jars were downloaded."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(cache))
    monkeypatch.setattr(
        "headrace.jvm.ivy._retrieve", lambda found, target, *more: (target / "api.jar").write_bytes(b"x")
    )
    runtime_jars()
    return cache


def test_kafka_connects_jars_are_found_in_the_cache_directory_that_is_sent(
    tmp_path: Path, plugins: Path, kafkas_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop_plugin(plugins)
    shipment = Shipment(tmp_path, [str(plugins)])
    monkeypatch.chdir(unpacked(shipment, tmp_path / "executor"))
    shutil.rmtree(kafkas_jars)
    monkeypatch.setenv("HEADRACE_CACHE_DIR", shipment.settings({})[CACHE])
    monkeypatch.setattr("headrace.jvm.ivy._retrieve", _refuse)
    (jar,) = runtime_jars()
    assert jar.is_relative_to(tmp_path / "executor")
    assert jar.read_bytes() == b"x"


def _refuse(*arguments: object) -> None:
    raise RetriableError("no repository")


def test_without_java_plugins_they_are_not_sent(tmp_path: Path, plugins: Path, kafkas_jars: Path) -> None:
    there = unpacked(Shipment(tmp_path, [str(plugins)]), tmp_path / "executor")
    assert not (there / "headrace-shipped" / "cache").exists()


def test_jars_that_the_worker_cannot_have_do_not_keep_it_from_starting(
    tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop_plugin(plugins)
    monkeypatch.setattr("headrace.spark.engine.shipment.runtime_jars", _refuse)
    assert (unpacked(Shipment(tmp_path, [str(plugins)]), tmp_path / "executor") / "headrace-shipped").is_dir()
    assert "download them when they need them: no repository" in caplog.text
