# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from headrace import KAFKA_VERSION, __version__
from headrace.api.errors import ConfigError
from headrace.plugins.builtin import BUILT_IN, KnownPlugin, PluginKind
from headrace.plugins.discovery import Plugins, connector_type, plugins_of

LISTED = (
    PluginKind.CONNECTOR,
    PluginKind.CONVERTER,
    PluginKind.HEADER_CONVERTER,
    PluginKind.TRANSFORMATION,
    PluginKind.PREDICATE,
)
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
        "headrace.connectors.file_stream.file_stream_source:FileStreamSourceConnector",
        "headrace.connectors.file_stream.file_stream_source.FileStreamSourceConnector",
    ],
)
def test_one_connector_by_all_its_names(plugins: Plugins, name: str) -> None:
    cls = plugins.connector(name)
    assert cls.__name__ == "FileStreamSourceConnector"
    assert connector_type(cls) == "source"
    assert plugins.class_name(PluginKind.CONNECTOR, cls) == JAVA_NAME


def test_task_names_go_both_ways_without_an_import(plugins: Plugins) -> None:
    java = "org.apache.kafka.connect.file.FileStreamSourceTask"
    target = "headrace.connectors.file_stream.file_stream_source:FileStreamSourceTask"
    connector = plugins.connector("FileStreamSource")
    assert plugins.task_target(java, connector) == plugins.task_target("FileStreamSourceTask", connector) == target
    assert plugins.task_target("some.where.Task", connector) == "some.where:Task"
    assert plugins.class_name(PluginKind.TASK, plugins.task(java)) == java


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("FileStreamSorce", "did you mean 'FileStreamSource'?"),
        ("filestreamsource", "did you mean 'FileStreamSource'?"),
        ("org.apache.kafka.connect.file.FileStreamSourceConector", f"did you mean '{JAVA_NAME}'?"),
        ("Oracle", "known are FileStreamSinkConnector, FileStreamSourceConnector, "),
        ("io.example.Nothing", "importing io.example failed"),
        ("headrace.connectors.file_stream.file_stream_source:Nothing", "has no attribute 'Nothing'"),
        ("json:JSONDecoder", "json.decoder.JSONDecoder is not a connector"),
        ("json:loads", "json:loads is not a class"),
        ("", "no such connector"),
        ("..", "no such connector"),
        (":x", "no such connector"),
    ],
)
def test_a_bad_name_is_reported_in_one_line(plugins: Plugins, name: str, part: str) -> None:
    with pytest.raises(ConfigError) as error:
        plugins.connector(name)
    assert f"Invalid value '{name}' for configuration connector.class" in str(error.value)
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_class_of_another_kind_is_refused(plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match=r"configuration key\.converter: .* is a connector, not a converter"):
        plugins.converter(
            "headrace.connectors.file_stream.file_stream_source:FileStreamSourceConnector", "key.converter"
        )


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


def test_describe_lists_by_java_names_and_the_broken_with_its_error(plugin_dir: Path) -> None:
    plugins = Plugins([str(plugin_dir)])
    assert "shop_plugin" not in sys.modules  # finding a plugin imports nothing
    described = plugins.describe()
    assert described is plugins.describe()
    by_class = {(info.type, info.class_name): info for info in described}
    assert by_class["source", JAVA_NAME].error is None
    assert ("converter", "org.apache.kafka.connect.json.JsonConverter") in by_class
    assert ("transformation", "org.apache.kafka.connect.transforms.Cast$Value") in by_class
    assert by_class["source", "shop_plugin.ShopSourceConnector"].version == "7"
    broken = by_class["unknown", "broken_plugin.X"]
    assert broken.version == "undefined"
    assert "importing broken_plugin failed: needs a" in str(broken.error)
    assert not any("Task" in info.class_name or "Policy" in info.class_name for info in described)


def test_a_class_of_another_kind_and_one_that_cannot_be_made_are_broken(plugin_dir: Path) -> None:
    points = plugin_dir / "shop-1.0.dist-info" / "entry_points.txt"
    points.write_text(
        "[headrace.converters]\nshop = shop_plugin:ShopSourceConnector\n"
        "[headrace.connectors]\nabstract = headrace.api.source:SourceConnector\nno = no target\n"
    )
    errors = {info.class_name: (info.type, info.error) for info in Plugins([str(plugin_dir)]).describe() if info.error}
    assert set(errors) == {"shop_plugin.ShopSourceConnector", "headrace.api.source.SourceConnector", "no target"}
    type, error = errors["shop_plugin.ShopSourceConnector"]
    assert (type, "is not a converter" in str(error)) == ("converter", True)
    type, error = errors["headrace.api.source.SourceConnector"]
    assert (type, "abstract" in str(error)) == ("source", True)


def test_broken_metadata_hides_no_other_package(plugin_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    info = plugin_dir / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[headrace.connectors]\nno equals sign\n")
    assert Plugins([str(plugin_dir)]).connector("shop")
    assert "bad-1.0.dist-info cannot be read" in caplog.text


def test_a_directory_that_is_not_there_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Plugins([str(tmp_path / "missing")])
    assert "plugin.path: there is no" in caplog.text


@pytest.mark.parametrize(
    ("properties", "name", "found"),
    [
        ({}, "shop", True),
        ({}, "shop_plugin:ShopSourceConnector", True),
        ({}, "plain_plugin.Plain", True),
        ({}, "spaced.plugin.Plain", True),
        ({}, "collections:OrderedDict", False),
        ({}, "os.path:join", False),
        ({}, "plain_plugins.Plain", False),
        ({"plugin.module.prefixes": "collections"}, "collections.abc:Mapping", True),
        ({"plugin.module.prefixes": " my.own , collections.* "}, "collections.abc:Mapping", True),
        ({"plugin.module.prefixes": "collections.abc"}, "collections:OrderedDict", False),
        ({"plugin.module.prefixes": "collect"}, "collections:OrderedDict", False),
        ({"plugin.module.prefixes": "*"}, "collections:OrderedDict", True),
    ],
)
def test_what_a_worker_imports(plugin_dir: Path, properties: dict[str, str], name: str, found: bool) -> None:
    (plugin_dir / "plain_plugin.py").write_text("from shop_plugin import ShopSourceConnector as Plain")
    (plugin_dir / "spaced").mkdir()
    (plugin_dir / "spaced" / "plugin.py").write_text("from shop_plugin import ShopSourceConnector as Plain")
    plugins = plugins_of({"plugin.path": f" {plugin_dir} ", **properties})
    try:
        plugins.connector(name)
        refused = ""
    except ConfigError as error:
        refused = str(error)
    assert ("imports none from module" not in refused) == found
    if not found:
        assert "plugin.module.prefixes can allow it" in refused


def test_what_is_refused_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dangerous_module.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(str(tmp_path))  # importable, but neither on plugin.path nor installed
    with pytest.raises(ConfigError, match="imports none from module dangerous_module"):
        plugins_of({}).connector("dangerous_module:Thing")
    with pytest.raises(ConfigError, match="it ran"):
        Plugins().connector("dangerous_module:Thing")


def test_a_module_that_stands_before_that_of_plugin_path_is_not_it(plugin_dir: Path) -> None:
    (plugin_dir / "wave.py").write_text("")
    with pytest.raises(ConfigError, match="imports none from module wave"):
        plugins_of({"plugin.path": str(plugin_dir)}).connector("wave:Wave_read")


def test_what_is_beside_an_entry_points_class_may_be_named(plugin_dir: Path) -> None:
    for module in ("acme/plugins/shop.py", "acme/plugins/more/other.py", "acme/core.py"):
        (plugin_dir / module).parent.mkdir(parents=True, exist_ok=True)
        (plugin_dir / module).write_text("from shop_plugin import ShopSourceConnector as Shop")
    (plugin_dir / "shop-1.0.dist-info" / "entry_points.txt").write_text(
        "[headrace.connectors]\nshop = acme.plugins.shop:Shop\n"
    )
    sys.path.append(str(plugin_dir))
    plugins = plugins_of({})
    assert plugins.connector("shop") is plugins.connector("acme.plugins.more.other.Shop")
    with pytest.raises(ConfigError, match=r"imports none from module acme\.core"):
        plugins.connector("acme.core.Shop")


def test_a_misspelled_java_name_is_reported_as_such() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        plugins_of({}).connector("org.apache.kafka.connect.file.FileStreamSourceConector")


def test_an_ambiguous_short_name_means_neither(plugin_dir: Path) -> None:
    points = plugin_dir / "shop-1.0.dist-info" / "entry_points.txt"
    points.write_text(
        "[headrace.connectors]\nshop = shop_plugin:ShopSourceConnector\nshop2 = other:ShopSourceConnector\n"
        "mine = mine:FileStreamSourceConnector\n"
    )
    plugins = Plugins([str(plugin_dir)])
    both = r"other\.ShopSourceConnector, shop_plugin\.ShopSourceConnector"
    with pytest.raises(ConfigError, match=f"the name is ambiguous; use a full class name: {both}"):
        plugins.connector("ShopSource")
    assert plugins.connector("shop")
    assert plugins.connector("FileStreamSource").__module__ == "headrace.connectors.file_stream.file_stream_source"


LOAD: dict[PluginKind, Callable[[Plugins, str], type]] = {
    PluginKind.CONNECTOR: lambda plugins, name: plugins.connector(name),
    PluginKind.TASK: lambda plugins, name: plugins.task(name),
    PluginKind.CONVERTER: lambda plugins, name: plugins.converter(name),
    PluginKind.HEADER_CONVERTER: lambda plugins, name: plugins.header_converter(name),
    PluginKind.TRANSFORMATION: lambda plugins, name: plugins.transformation(name),
    PluginKind.PREDICATE: lambda plugins, name: plugins.predicate(name),
    PluginKind.CONFIG_PROVIDER: lambda plugins, name: plugins.config_provider(name, "config.providers.x.class"),
    PluginKind.CLIENT_OVERRIDE_POLICY: lambda plugins, name: plugins.override_policy(name, "policy"),
    PluginKind.REST_EXTENSION: lambda plugins, name: plugins.rest_extension(name, "rest.extension.classes"),
}


@pytest.mark.parametrize("plugin", BUILT_IN, ids=lambda plugin: f"{plugin.kind.value}:{plugin.target}")
def test_every_built_in_loads_by_all_its_names(plugins: Plugins, plugin: KnownPlugin) -> None:
    load = LOAD[plugin.kind]
    cls = load(plugins, plugin.class_name)
    assert cls.__name__ == plugin.class_name.rpartition(".")[2].replace("$", "")
    assert all(load(plugins, name) is cls for name in plugin.names())


def test_short_names_of_transformations(plugins: Plugins) -> None:
    for name in ("Cast$Value", "CastValue", "headrace.transforms.cast.CastValue"):
        assert plugins.transformation(name).__name__ == "CastValue"
    assert plugins.transformation("InsertHeader").__name__ == "InsertHeader"
    assert plugins.predicate("HasHeaderKey").__name__ == "HasHeaderKey"


@pytest.mark.parametrize("plugin", [each for each in BUILT_IN if each.kind in LISTED], ids=lambda plugin: plugin.target)
def test_built_in_plugins_have_kafkas_version_where_they_stand_for_kafkas_own(plugin: KnownPlugin) -> None:
    """The one that is listed, and the one that the class returns, which statuses show."""
    module, _, name = plugin.target.partition(":")
    message = str(getattr(importlib.import_module(module), name)().version())
    assert message == plugin.version == (KAFKA_VERSION if "org.apache.kafka" in plugin.class_name else __version__)


def test_tasks_have_the_versions_of_their_connectors() -> None:
    tasks = [each for each in BUILT_IN if each.kind is PluginKind.TASK]
    for plugin in tasks:
        module, _, name = plugin.target.partition(":")
        assert getattr(importlib.import_module(module), name)().version() == plugin.version
    assert len(tasks) == 13


def test_the_list_shows_these_versions() -> None:
    versions = {info.class_name: info.version for info in Plugins().describe()}
    assert versions["org.apache.kafka.connect.file.FileStreamSourceConnector"] == KAFKA_VERSION == "4.3.1"
    assert versions["org.apache.kafka.connect.json.JsonConverter"] == KAFKA_VERSION
    assert versions["headrace.connectors.spark_sink.SparkSinkConnector"] == __version__
