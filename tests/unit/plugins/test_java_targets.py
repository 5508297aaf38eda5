# SPDX-License-Identifier: Apache-2.0
"""Java plugins by name. Their Python classes are made here: the real ones need a JVM."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.converter import Converter, HeaderConverter
from headrace.api.errors import ConfigError
from headrace.api.sink import SinkConnector, SinkTask
from headrace.api.source import SourceConnector, SourceTask
from headrace.api.transform import Predicate, Transformation
from headrace.java.classes import FACTORIES, python_class
from headrace.java.plugin import JavaKind, JavaPlugin, java_class_of, stand_for
from headrace.plugins import java_targets
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins, WrongKindError, plugins_of
from tests.unit.jars import CONVERTER, HEADER_CONVERTER, SINK, SOURCE, SOURCE_TASK, class_file, make_jar, shop_plugin

SHOP = "shop.ShopSourceConnector"
TASK = "shop.ShopSourceTask"
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
BASES: dict[JavaKind, type] = {
    JavaKind.SOURCE: SourceConnector,
    JavaKind.SINK: SinkConnector,
    JavaKind.SOURCE_TASK: SourceTask,
    JavaKind.SINK_TASK: SinkTask,
    JavaKind.CONVERTER: Converter,
    JavaKind.HEADER_CONVERTER: HeaderConverter,
    JavaKind.TRANSFORMATION: Transformation,
    JavaKind.PREDICATE: Predicate,
}


@pytest.fixture(autouse=True)
def python_classes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: dict[JavaPlugin, type] = {}

    def python_class(plugin: JavaPlugin) -> type:
        if plugin not in made:
            made[plugin] = type("Made", (BASES[plugin.kind],), {"plugin": plugin})
            stand_for(made[plugin], plugin.class_name)
        return made[plugin]

    monkeypatch.setattr(java_targets, "python_class", python_class)
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", sys.path[:])


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    directory = tmp_path / "plugins"
    shop_plugin(directory)
    both = {"a.OwnConverter": class_file("a.OwnConverter", interfaces=[CONVERTER, HEADER_CONVERTER])}
    make_jar(directory / "converter-3.jar", both)
    make_jar(directory / "file-9.jar", {FILE: class_file(FILE, SOURCE)})
    return directory


@pytest.fixture
def plugins(plugin_path: Path) -> Plugins:
    return Plugins([str(plugin_path)], module_prefixes=())


def plugin_of(cls: type) -> JavaPlugin:
    plugin: JavaPlugin = getattr(cls, "plugin")  # noqa: B009 (no class of the API has it)
    return plugin


@pytest.mark.parametrize("name", [SHOP, f"java:{SHOP}", "ShopSourceConnector", "ShopSource", f" {SHOP} "])
def test_the_names_of_a_connector(plugins: Plugins, name: str) -> None:
    cls = plugins.connector(name)
    assert issubclass(cls, SourceConnector)
    assert plugin_of(cls).class_name == SHOP
    assert plugins.class_name(PluginKind.CONNECTOR, cls) == SHOP
    assert plugins.connector(SHOP) is cls


def test_a_class_of_two_kinds(plugins: Plugins) -> None:
    assert plugin_of(plugins.converter("Own")).kind is JavaKind.CONVERTER
    assert plugin_of(plugins.header_converter("a.OwnConverter")).kind is JavaKind.HEADER_CONVERTER
    with pytest.raises(WrongKindError, match=r"a\.OwnConverter is a converter, not a connector"):
        plugins.connector("a.OwnConverter")


def test_plugins_are_listed_without_their_classes(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_targets, "python_class", None)
    listed = {(info.class_name, info.type): info.version for info in plugins.describe()}
    assert listed[SHOP, "source"] == "1.2"
    assert listed["a.OwnConverter", "converter"] == listed["a.OwnConverter", "header_converter"] == "3"
    assert all(info.error is None for info in plugins.describe())
    assert not any(TASK in key for key in listed)


def test_a_built_in_plugin_wins(plugins: Plugins) -> None:
    for name in (FILE, "FileStreamSource"):
        assert plugins.connector(name).__module__.startswith("headrace.connectors")
    cls = plugins.connector(f"java:{FILE}")
    assert plugin_of(cls).class_name == FILE
    assert plugins.class_name(PluginKind.CONNECTOR, cls) == FILE
    versions = [info.version for info in plugins.describe() if info.class_name == FILE]
    assert len(versions) == 1 and versions != ["9"]


def test_the_task_of_a_connector(plugins: Plugins, plugin_path: Path) -> None:
    target = plugins.task_target(TASK, plugins.connector(SHOP))
    assert target == f"java:{TASK}@{SHOP}"
    cls = plugins_of({"plugin.path": str(plugin_path)}).task(target)  # in the task's process
    assert issubclass(cls, SourceTask)
    assert plugin_of(cls).class_name == TASK
    assert plugin_of(cls).jars == plugin_of(plugins.connector(SHOP)).jars
    assert plugins.class_name(PluginKind.TASK, cls) == TASK


@pytest.mark.parametrize("name", ["other.Task", "os:path", "FileStreamSourceTask", SHOP])
def test_no_task_of_other_jars(plugins: Plugins, plugin_path: Path, name: str) -> None:
    make_jar(plugin_path / "other.jar", {"other.Task": class_file("other.Task", SOURCE_TASK)})
    others = Plugins([str(plugin_path)])
    with pytest.raises(ConfigError, match=rf"{name}.*the jars of connector {SHOP} have no such task"):
        others.task_target(name, others.connector(SHOP))
    for target in (f"java:{name}@{SHOP}", f"java:{name}"):
        with pytest.raises(ConfigError, match=r"no jar in plugin\.path has such a Java task"):
            others.task(target)


def test_the_task_of_a_python_connector_is_none_of_java(plugins: Plugins) -> None:
    with pytest.raises(ConfigError):
        plugins.task_target(TASK, plugins.connector("FileStreamSource"))


def test_lists_apply_to_all_names(plugin_path: Path) -> None:
    path = str(plugin_path)
    for entry in ("ShopSource", SHOP, "shop.*", f"java:{SHOP}"):
        denying = plugins_of({"plugin.path": path, "connectors.denylist": entry})
        for name in (SHOP, "ShopSource", f"java:{SHOP}"):
            with pytest.raises(ConfigError, match=r"connectors\.denylist has"):
                denying.connector(name)
        assert SHOP not in {info.class_name for info in denying.describe()}
        allowing = plugins_of({"plugin.path": path, "connectors.allowlist": entry})
        assert allowing.connector("ShopSource")
        with pytest.raises(ConfigError, match=r"connectors\.allowlist does not have it"):
            allowing.connector("FileStreamSink")


@pytest.mark.parametrize("name", ["java:shop.Missing", "java:", "java:os"])
def test_unknown_java_classes(plugins: Plugins, name: str) -> None:
    with pytest.raises(ConfigError, match=r"no jar in plugin\.path has such a Java connector"):
        plugins.connector(name)


def test_misspelt_names(plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match="did you mean 'ShopSource'"):
        plugins.connector("ShopSorce")


def test_modules_named_java_are_not_allowed_by_jars(plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match="imports none from module java"):
        plugins.connector("java.Connector")


def test_of_two_versions_the_newer_one(plugin_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for version in ("1.10", "1.9"):
        make_jar(plugin_path / f"shop-{version}.jar", {SHOP: class_file(SHOP, SINK)})
    plugins = Plugins([str(plugin_path)])
    assert plugin_of(plugins.connector(SHOP)).version == "1.10"
    with caplog.at_level(logging.WARNING):
        plugins.warn_of_plugins()
    assert [record.getMessage() for record in caplog.records] == [
        f"{SHOP} is there twice: version 1.10 in {plugin_path}/shop-1.10.jar is used, "
        f"and version {version} in {plugin_path}/{place} is not"
        for version, place in (("1.2", "shop"), ("1.9", "shop-1.9.jar"))
    ]


def test_jars_are_not_on_the_module_search_path(plugin_path: Path) -> None:
    Plugins([str(plugin_path / "file-9.jar"), str(plugin_path)])
    assert str(plugin_path) in sys.path
    assert not any(entry.endswith(".jar") for entry in sys.path)


@pytest.mark.parametrize("kind", list(JavaKind))
def test_the_makers_of_classes_exist(kind: JavaKind) -> None:
    module, _, function = FACTORIES[kind].partition(":")
    if find_spec(f"headrace.java.{module}") is None:
        pytest.skip(f"this version has no {module}")
    pytest.importorskip("jpype")
    made: Any = __import__(f"headrace.java.{module}", fromlist=[function])
    assert callable(getattr(made, function))


def test_what_a_python_class_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def source_connector_class(plugin: JavaPlugin) -> type:
        return type("Made", (SourceConnector,), {"plugin": plugin})

    monkeypatch.setitem(sys.modules, "headrace.java.connector", SimpleNamespace(**locals()))
    plugin = JavaPlugin(JavaKind.SOURCE, SHOP, "1", (), Path("/shop"))
    cls = python_class(plugin)
    assert (java_class_of(cls), plugin_of(cls)) == (SHOP, plugin)
    assert python_class(replace(plugin)) is cls
    assert java_class_of(type("Other", (cls,), {})) is None
    assert java_class_of(SourceConnector) is None
