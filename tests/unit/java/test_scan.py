# SPDX-License-Identifier: Apache-2.0
"""The search in directories as Java lays them out."""

from __future__ import annotations

import logging
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.java import jar_cache
from headrace.java.jar_cache import JarCache
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.scan import locations, scan
from tests.tiers import examples
from tests.unit.jars import (
    ABSTRACT,
    CONVERTER,
    HEADER_CONVERTER,
    KAFKA,
    PREDICATE,
    PUBLIC,
    SINK,
    SINK_TASK,
    SOURCE,
    TRANSFORMATION,
    class_file,
    make_jar,
    shop_plugin,
)


@pytest.fixture
def cache(tmp_path: Path) -> JarCache:
    return JarCache(tmp_path / "cache")


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    return tmp_path / "plugins"


def found(plugin_path: Path, cache: JarCache) -> dict[tuple[str, str], JavaPlugin]:
    return {(plugin.kind.value, plugin.class_name): plugin for plugin in scan([plugin_path], cache)}


def test_no_jvm_is_started(plugin_path: Path, cache: JarCache, monkeypatch: pytest.MonkeyPatch) -> None:
    shop_plugin(plugin_path)
    monkeypatch.setitem(sys.modules, "jpype", None)
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: pytest.fail("it starts a process"))
    assert ("source", "shop.ShopSourceConnector") in found(plugin_path, cache)


def test_a_hierarchy_over_the_jars_of_a_directory(plugin_path: Path, cache: JarCache) -> None:
    shop_plugin(plugin_path)
    plugins = found(plugin_path, cache)
    assert set(plugins) == {("source", "shop.ShopSourceConnector"), ("source_task", "shop.ShopSourceTask")}
    plugin = plugins["source", "shop.ShopSourceConnector"]
    directory = plugin_path / "shop"
    assert plugin.location == directory
    assert plugin.jars == (directory / "lib" / "shop-core-1.2.jar", directory / "shop-1.2.jar")
    assert plugin.version == "1.2"


def test_the_jars_of_another_directory_are_not_its_parents(plugin_path: Path, cache: JarCache) -> None:
    shop_plugin(plugin_path)
    (plugin_path / "other").mkdir()
    (plugin_path / "shop" / "lib" / "shop-core-1.2.jar").rename(plugin_path / "other" / "core.jar")
    assert set(found(plugin_path, cache)) == {("source_task", "shop.ShopSourceTask")}


def test_all_kinds(plugin_path: Path, cache: JarCache) -> None:
    classes = {
        "a.Sink": class_file("a.Sink", SINK),
        "a.Task": class_file("a.Task", SINK_TASK),
        "a.Both": class_file("a.Both", interfaces=[CONVERTER, HEADER_CONVERTER]),
        "a.Json": class_file("a.Json", f"{KAFKA}.json.JsonConverter"),
        "a.Cut$Value": class_file("a.Cut$Value", "a.Cut"),
        "a.Cut": class_file("a.Cut", interfaces=["a.Step"], flags=PUBLIC | ABSTRACT),
        "a.Step": class_file("a.Step", interfaces=[TRANSFORMATION], flags=PUBLIC | ABSTRACT | 0x200),
        "a.Is": class_file("a.Is", interfaces=[PREDICATE]),
        "a.Hidden": class_file("a.Hidden", SINK, flags=0),
        "a.Other": class_file("a.Other", "b.Unknown"),
        "a.Loop": class_file("a.Loop", "a.Loop"),
        f"{KAFKA}.runtime.Own": class_file(f"{KAFKA}.runtime.Own", interfaces=[TRANSFORMATION]),
    }
    make_jar(plugin_path / "all.jar", classes)
    assert sorted(found(plugin_path, cache)) == [
        ("converter", "a.Both"),
        ("converter", "a.Json"),
        ("header_converter", "a.Both"),
        ("header_converter", "a.Json"),
        ("predicate", "a.Is"),
        ("sink", "a.Sink"),
        ("sink_task", "a.Task"),
        ("transformation", "a.Cut$Value"),
    ]


def test_declared_services_whose_parents_are_elsewhere(plugin_path: Path, cache: JarCache) -> None:
    classes = {"a.Sink": class_file("a.Sink", "b.Unknown"), "a.Scanned": class_file("a.Scanned", SINK)}
    services = {SINK: "# comment\n\na.Sink # one\na.Missing\n"}
    make_jar(plugin_path / "a" / "a.jar", classes, services)
    assert set(found(plugin_path, cache)) == {("sink", "a.Sink"), ("sink", "a.Scanned")}


@pytest.mark.parametrize(
    ("name", "manifest", "version"),
    [
        ("a-2.1.0.Final.jar", None, "2.1.0.Final"),
        ("kafka-connect-a-0.3.0-SNAPSHOT-all.jar", None, "0.3.0-SNAPSHOT"),
        ("a.jar", None, "undefined"),
        ("a-1.jar", "Manifest-Version: 1.0\r\nImplementation-Version: 4\r\n .2\r\n", "4.2"),
        ("a-1.jar", "Manifest-Version: 1.0\n\nName: b\nImplementation-Version: 9\n", "1"),
    ],
)
def test_versions(plugin_path: Path, cache: JarCache, name: str, manifest: str | None, version: str) -> None:
    make_jar(plugin_path / name, {"a.Sink": class_file("a.Sink", SINK)}, manifest=manifest)
    assert [plugin.version for plugin in scan([plugin_path], cache)] == [version]


def test_broken_jars_are_named_and_hide_nothing(
    plugin_path: Path, cache: JarCache, caplog: pytest.LogCaptureFixture
) -> None:
    jar = shop_plugin(plugin_path)
    whole = jar.read_bytes()
    (jar.parent / "cut.jar").write_bytes(whole[: len(whole) // 2])
    (jar.parent / "text.jar").write_text("no jar")
    (jar.parent / "empty.jar").touch()
    table = whole.index(b"PK\x01\x02")
    (jar.parent / "torn.jar").write_bytes(b"\xff" * table + whole[table:])
    with caplog.at_level(logging.WARNING):
        assert ("source", "shop.ShopSourceConnector") in found(plugin_path, cache)
        found(plugin_path, cache)
    named = [record.getMessage().split()[0] for record in caplog.records]
    assert sorted(named) == sorted(str(jar.parent / f"{name}.jar") for name in ("cut", "empty", "text", "torn"))


def test_a_class_that_is_broken_hides_no_other(plugin_path: Path, cache: JarCache) -> None:
    classes = {
        "a.Sink": class_file("a.Sink", SINK),
        "a.Broken": b"\xca\xfe\xba\xbe\0",
        "a.Moved": class_file("b.C", SINK),
    }
    make_jar(plugin_path / "a.jar", classes)
    assert set(found(plugin_path, cache)) == {("sink", "a.Sink")}


def test_versions_of_classes_for_other_javas_are_not_read(plugin_path: Path, cache: JarCache) -> None:
    make_jar(plugin_path / "a.jar", {"META-INF.versions.21.a.Sink": class_file("a.Sink", SINK)})
    assert found(plugin_path, cache) == {}


def test_locations(plugin_path: Path, tmp_path: Path) -> None:
    jar = make_jar(tmp_path / "elsewhere" / "x.jar", {})
    make_jar(plugin_path / "single.jar", {})
    make_jar(plugin_path / "one" / "deep" / "er" / "x.jar", {})
    make_jar(plugin_path / "one" / ".git" / "x.jar", {})
    make_jar(plugin_path / "python" / "jars" / "x.jar", {})
    (plugin_path / "python" / "__init__.py").touch()
    (plugin_path / "linked").symlink_to(jar.parent)
    (plugin_path / "links").mkdir()
    (plugin_path / "links" / "x.jar").symlink_to(jar)
    (plugin_path / "links" / "broken.jar").symlink_to(tmp_path / "missing")
    (plugin_path / "links" / "round").symlink_to(plugin_path / "links")
    (plugin_path / "empty").mkdir()
    listed = dict(locations([plugin_path, tmp_path / "missing", plugin_path, jar]))
    assert listed == {
        plugin_path / "linked": (plugin_path / "linked" / "x.jar",),
        plugin_path / "links": (jar,),
        plugin_path / "one": (plugin_path / "one" / "deep" / "er" / "x.jar",),
        plugin_path / "single.jar": (plugin_path / "single.jar",),
        jar: (jar,),
    }


def test_a_jar_is_read_once_and_again_when_it_changes(
    plugin_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def reading(path: Path) -> object:
        read.append(path)
        return original(path)

    original = jar_cache.read_jar
    monkeypatch.setattr(jar_cache, "read_jar", reading)
    jar = make_jar(plugin_path / "a.jar", {"a.Sink": class_file("a.Sink", SINK)})
    first = JarCache(tmp_path / "cache")
    expected = found(plugin_path, first)
    assert found(plugin_path, first) == expected
    assert found(plugin_path, JarCache(tmp_path / "cache")) == expected  # another process
    assert read == [jar]
    make_jar(jar, {"a.Source": class_file("a.Source", SOURCE)})
    assert set(found(plugin_path, first)) == {("source", "a.Source")}
    assert read == [jar, jar]


def test_a_cache_that_cannot_be_used_costs_time_only(plugin_path: Path, tmp_path: Path) -> None:
    make_jar(plugin_path / "a.jar", {"a.Sink": class_file("a.Sink", SINK)})
    (tmp_path / "file").touch()
    assert set(found(plugin_path, JarCache(tmp_path / "file"))) == {("sink", "a.Sink")}
    broken = tmp_path / "cache"
    found(plugin_path, JarCache(broken))
    for file in broken.iterdir():
        file.write_text('{"candidates": 1}')
    assert set(found(plugin_path, JarCache(broken))) == {("sink", "a.Sink")}


def test_a_stored_entry_of_a_jar_is_read_too(plugin_path: Path, cache: JarCache) -> None:
    plugin_path.mkdir()
    with zipfile.ZipFile(plugin_path / "a.zip", "w", zipfile.ZIP_STORED) as jar:
        jar.writestr("a/Sink.class", class_file("a.Sink", SINK))
        jar.comment = b"a comment" * 100
    assert [plugin.kind for plugin in scan([plugin_path], cache)] == [JavaKind.SINK]


@given(st.data())
@settings(max_examples=examples(200))
def test_damage_of_any_kind_is_a_warning_at_most(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        jar = shop_plugin(Path(directory))
        content = bytearray(jar.read_bytes())
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        jar.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        found = {plugin.class_name for plugin in scan([Path(directory)], JarCache(Path(directory) / "cache"))}
        assert found <= {"shop.ShopSourceConnector", "shop.ShopSourceTask"}
