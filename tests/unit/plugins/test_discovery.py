# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from headrace.api.errors import ConfigError
from headrace.plugins.builtin import BUILT_IN, KnownPlugin, PluginKind
from headrace.plugins.discovery import Plugins, connector_type

JAVA_NAME = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture
def plugins() -> Plugins:
    return Plugins()


@pytest.fixture
def plugin_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory of plugins: a package with entry points, a broken module."""
    (tmp_path / "shop_plugin.py").write_text(
        dedent(
            """
            from headrace.api.config_def import ConfigDef
            from headrace.api.source import SourceConnector, SourceTask

            class ShopTask(SourceTask):
                def start(self, props): pass
                def poll(self): return None
                def stop(self): pass

            class ShopSourceConnector(SourceConnector):
                def version(self): return "7"
                def start(self, props): pass
                def task_class(self): return ShopTask
                def task_configs(self, max_tasks): return []
                def stop(self): pass
                def config(self): return ConfigDef()

            class Outer:
                class Inner(ShopSourceConnector): pass

            not_a_class = 1
            """
        )
    )
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('needs a\\nlicence')")
    info = tmp_path / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[headrace.connectors]\nshop = shop_plugin:ShopSourceConnector\nbroken = broken_plugin:X\n"
    )
    modules, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    "name",
    [
        JAVA_NAME,
        "FileStreamSourceConnector",
        "FileStreamSource",
        " FileStreamSource ",
        "headrace.connectors.file_stream_source:FileStreamSourceConnector",
        "headrace.connectors.file_stream_source.FileStreamSourceConnector",
    ],
)
def test_one_connector_by_all_its_names(plugins: Plugins, name: str) -> None:
    cls = plugins.connector(name)
    assert cls.__name__ == "FileStreamSourceConnector"
    assert connector_type(cls) == "source"
    assert plugins.class_name(PluginKind.CONNECTOR, cls) == JAVA_NAME


def test_task_names_go_both_ways_without_an_import(plugins: Plugins) -> None:
    java = "org.apache.kafka.connect.file.FileStreamSourceTask"
    target = "headrace.connectors.file_stream_source:FileStreamSourceTask"
    assert plugins.task_target(java) == plugins.task_target("FileStreamSourceTask") == target
    assert plugins.task_target("some.where.Task") == "some.where:Task"
    assert plugins.class_name(PluginKind.TASK, plugins.task(java)) == java


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("FileStreamSorce", "did you mean 'FileStreamSource'?"),
        ("filestreamsource", "did you mean 'FileStreamSource'?"),
        ("org.apache.kafka.connect.file.FileStreamSourceConector", f"did you mean '{JAVA_NAME}'?"),
        ("Oracle", "known are FileStreamSourceConnector, VerifiableSourceConnector"),
        ("io.example.Nothing", "importing io.example failed"),
        ("headrace.connectors.file_stream_source:Nothing", "has no attribute 'Nothing'"),
        ("json:JSONDecoder", "json.decoder.JSONDecoder is not a connector"),
        ("json:loads", "json:loads is not a class"),
        ("", "no such connector"),
        ("..", "no such connector"),
        (":x", "no such connector"),
    ],
)
def test_a_bad_name_is_told_in_one_line(plugins: Plugins, name: str, part: str) -> None:
    with pytest.raises(ConfigError) as error:
        plugins.connector(name)
    assert f"Invalid value '{name}' for configuration connector.class" in str(error.value)
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_class_of_another_kind_is_refused(plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match=r"configuration key\.converter: .* is not a converter"):
        plugins.converter("headrace.connectors.file_stream_source:FileStreamSourceConnector", "key.converter")


def test_plugin_path_entry_points_and_nested_classes(plugin_dir: Path) -> None:
    plugins = Plugins([str(plugin_dir)])
    shop = plugins.connector("shop")
    assert shop is plugins.connector("ShopSource") is plugins.connector("shop_plugin.ShopSourceConnector")
    assert plugins.connector("shop_plugin:Outer.Inner").__qualname__ == "Outer.Inner"
    with pytest.raises(ConfigError, match="is not a class"):
        plugins.connector("shop_plugin:not_a_class")
    with pytest.raises(ConfigError, match="importing broken_plugin failed: needs a") as error:
        plugins.connector("broken")
    assert "\n" not in str(error.value)


def test_describe_lists_by_java_names_and_leaves_the_broken_out(plugin_dir: Path) -> None:
    described = Plugins([str(plugin_dir)]).describe()
    by_class = {(info.type, info.class_name): info for info in described}
    assert ("source", JAVA_NAME) in by_class
    assert ("converter", "org.apache.kafka.connect.json.JsonConverter") in by_class
    assert by_class["source", "shop_plugin.ShopSourceConnector"].version == "7"
    assert not any("broken" in info.class_name or "Task" in info.class_name for info in described)


def test_allowed_prefixes(plugin_dir: Path) -> None:
    plugins = Plugins([str(plugin_dir)], allowed_prefixes=["my.plugins"])
    assert plugins.connector("shop")
    with pytest.raises(ConfigError, match="imports no plugins from module collections"):
        plugins.connector("collections:OrderedDict")


def test_an_ambiguous_short_name_means_neither(plugin_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    points = plugin_dir / "shop-1.0.dist-info" / "entry_points.txt"
    points.write_text(
        "[headrace.connectors]\nshop = shop_plugin:ShopSourceConnector\nshop2 = other:ShopSourceConnector\n"
        "mine = mine:FileStreamSourceConnector\n"
    )
    plugins = Plugins([str(plugin_dir)])
    with pytest.raises(ConfigError, match="no such connector"):
        plugins.connector("ShopSource")
    assert plugins.connector("shop")
    assert plugins.connector("FileStreamSource").__module__ == "headrace.connectors.file_stream_source"
    assert "ShopSource is ambiguous" in caplog.text


@pytest.mark.parametrize("plugin", BUILT_IN, ids=lambda plugin: f"{plugin.kind.value}:{plugin.target}")
def test_every_built_in_loads(plugins: Plugins, plugin: KnownPlugin) -> None:
    load = {
        PluginKind.CONNECTOR: plugins.connector,
        PluginKind.TASK: plugins.task,
        PluginKind.CONVERTER: plugins.converter,
        PluginKind.HEADER_CONVERTER: plugins.header_converter,
    }
    assert load[plugin.kind](plugin.class_name).__name__ == plugin.class_name.rpartition(".")[2]
