# SPDX-License-Identifier: Apache-2.0
"""Connectors of Maven Central: installed, found, described and validated as Java itself does.

`docs/connectors.md` says which ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from headrace.java.config_def import plain
from headrace.java.connector import JavaConnector
from headrace.java.data import java_map
from headrace.java.host import TIMEOUT
from headrace.java.instances import HeldInstance, class_loader_of, held_instance
from headrace.java.jar_cache import JarCache
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.scan import scan
from headrace.java.store import PluginStore
from headrace.plugins.builtin import JAVA_PREFIX, PluginKind
from headrace.plugins.java_targets import JavaTargets
from tests.java.known_connectors import KNOWN, Known
from tests.support.debian import or_skip

TASKS = {JavaKind.SOURCE: JavaKind.SOURCE_TASK, JavaKind.SINK: JavaKind.SINK_TASK}
every_one = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.class_name.rpartition(".")[2])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PluginStore:
    """What is installed by the tests, each plugin once."""
    return PluginStore(tmp_path_factory.mktemp("known") / "plugins")


def installed(store: PluginStore, known: Known) -> Path:
    """The directory of an installed connector. Its test is skipped where the repository cannot be reached."""
    there = {each.source: each.directory for each in store.installed()}
    return there.get(known.coordinate) or or_skip(lambda: store.install(known.coordinate)).directory


def connector_of(store: PluginStore, known: Known) -> JavaConnector:
    """The connector, by its name, as a worker has it."""
    installed(store, known)
    targets = JavaTargets([str(store.directory)])
    cls = targets.load(PluginKind.CONNECTOR, f"{JAVA_PREFIX}{known.class_name}", "connector.class")
    assert issubclass(cls, JavaConnector)
    return cls()


def java_instance(plugin: JavaPlugin) -> HeldInstance:
    """A connector of Java in this process, for comparison."""
    return held_instance(plugin.jars, plugin.class_name)


def validated(connector: JavaConnector, config: Mapping[str, str]) -> dict[str, tuple[Any, ...]]:
    """What Java's validation answers, by properties."""
    theirs = java_instance(connector.plugin)
    with class_loader_of(theirs):
        values = list(theirs.validate(java_map(config)).configValues())
    return {
        str(value.name()): (
            plain(value.value()),
            [str(message) for message in value.errorMessages()],
            [str(each) for each in value.recommendedValues()],
            bool(value.visible()),
        )
        for value in values
    }


@every_one
def test_it_is_found(known: Known, store: PluginStore, tmp_path: Path) -> None:
    directory = installed(store, known)
    found = [each for each in scan([store.directory], JarCache(tmp_path)) if each.location == directory]
    (plugin,) = [each for each in found if each.class_name == known.class_name]
    assert (plugin.kind, plugin.version) == (known.kind, known.version)
    task = str(java_instance(plugin).taskClass().getName())
    assert [each.kind for each in found if each.class_name == task] == [TASKS[known.kind]]


@every_one
def test_its_properties_are_those_of_java(known: Known, store: PluginStore) -> None:
    connector = connector_of(store, known)
    theirs = java_instance(connector.plugin)
    with class_loader_of(theirs):
        keys = {str(name): key for name, key in theirs.config().configKeys().items()}
        version, task = str(theirs.version()), str(theirs.taskClass().getName())
    ours = connector.config().config_keys
    assert list(ours) == [*keys, TIMEOUT]
    assert [ours[name].has_default for name in keys] == [bool(key.hasDefault()) for key in keys.values()]
    assert [ours[name].type.name for name in keys] == [str(key.type().name()) for key in keys.values()]
    assert (connector.version(), connector.task_class_name()) == (version, task)
    assert version == known.version


@every_one
def test_it_validates_as_java_does(known: Known, store: PluginStore) -> None:
    connector = connector_of(store, known)
    assert messages(connector, known.properties, known.says) == known.says.keys()
    if known.wrong:
        wrong = {**known.properties, **known.wrong}
        assert messages(connector, wrong, known.says_of_wrong) >= known.says_of_wrong.keys()


def messages(connector: JavaConnector, config: Mapping[str, str], says: Mapping[str, str]) -> set[str]:
    """Validate, compare it with what Java answers, and return the names of the properties with a message."""
    values = [value for value in connector.validate(config) if value.name != TIMEOUT]
    found = {value.name: " ".join(value.error_messages) for value in values if value.error_messages}
    assert all(part in found.get(name, "") for name, part in says.items()), found
    ours = {each.name: (each.value, each.error_messages, list(map(str, each.recommended_values)), each.visible)
            for each in values}  # fmt: skip
    assert ours == validated(connector, config)
    return set(found)


def test_icebergs_artifact_has_nothing_that_writes_files(store: PluginStore) -> None:
    """As `docs/connectors.md` says: its tasks need more than Maven Central has in one artifact."""
    (known,) = [each for each in KNOWN if each.class_name.endswith("IcebergSinkConnector")]
    classes = {name for jar in installed(store, known).rglob("*.jar") for name in ZipFile(jar).namelist()}
    assert "org/apache/iceberg/connect/IcebergSinkTask.class" in classes
    assert not classes & {"org/apache/iceberg/parquet/Parquet.class", "org/apache/hadoop/conf/Configuration.class"}
