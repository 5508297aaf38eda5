# SPDX-License-Identifier: Apache-2.0
"""Plugins of Maven Central that are installed and found, compared with what Kafka's own tool finds there."""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess
import zipfile
from collections.abc import Set
from pathlib import Path

import pytest

from headrace import KAFKA_VERSION
from headrace.api.errors import ConnectError, RetriableError
from headrace.java.jar_cache import JarCache
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.scan import scan
from headrace.java.store import PluginStore
from headrace.jvm.ivy import resolve_jars
from headrace.jvm.java_runtime import find_java

DEBEZIUM = "io.debezium:debezium-connector-postgres:3.3.1.Final"
COORDINATES = (
    f"org.apache.kafka:connect-file:{KAFKA_VERSION}",
    f"org.apache.kafka:connect-test-plugins:{KAFKA_VERSION}",
    DEBEZIUM,
)
TASKS = (JavaKind.SOURCE_TASK, JavaKind.SINK_TASK)
Found = tuple[str, str, str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PluginStore:
    made = PluginStore(tmp_path_factory.mktemp("java") / "plugins")
    try:
        for coordinate in COORDINATES:
            made.install(coordinate)
    except RetriableError as error:  # no network
        pytest.skip(str(error))
    return made


def scanned(directory: Path, cache: Path) -> list[JavaPlugin]:
    return [plugin for plugin in scan([directory], JarCache(cache)) if plugin.kind not in TASKS]


def names(plugins: list[JavaPlugin]) -> Set[Found]:
    return {(plugin.kind.value, plugin.class_name, str(plugin.location.name)) for plugin in plugins}


def test_the_plugins_are_those_that_kafkas_tool_lists(store: PluginStore, tmp_path: Path) -> None:
    jars = resolve_jars([f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in ("kafka-tools", "connect-runtime")])
    command = [str(find_java().java), "-cp", ":".join(map(str, jars)), "org.apache.kafka.tools.ConnectPluginPath"]
    command += ["list", "--plugin-path", str(store.directory)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    listed = list(csv.DictReader(answer.stdout.partition("\n\n")[0].splitlines(), delimiter="\t"))
    found = scanned(store.directory, tmp_path)
    assert len(listed) > 20
    assert names(found) == {(row["pluginType"], row["pluginName"], Path(row["pluginLocation"]).name) for row in listed}
    versions = {(plugin.kind.value, plugin.class_name): plugin.version for plugin in found}
    loadable = [row for row in listed if row["isLoadable"] == "true"]
    assert {
        (row["pluginType"], row["pluginName"]): row["pluginVersion"] for row in loadable
    }.items() <= versions.items()


def test_with_and_without_files_of_services(store: PluginStore, tmp_path: Path) -> None:
    bare = tmp_path / "plugins"
    for jar in store.directory.rglob("*.jar"):
        _without_services(jar, bare / jar.relative_to(store.directory))
    assert names(scanned(bare, tmp_path / "bare")) == names(scanned(store.directory, tmp_path / "cache"))


def _without_services(jar: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar) as whole, zipfile.ZipFile(target, "w") as part:
        for entry in whole.infolist():
            if not entry.filename.startswith("META-INF/services/"):
                part.writestr(entry, whole.read(entry))


def test_tasks_are_found_beside_their_connectors(store: PluginStore, tmp_path: Path) -> None:
    tasks = {
        plugin.class_name: plugin for plugin in scan([store.directory], JarCache(tmp_path)) if plugin.kind in TASKS
    }
    task = tasks["io.debezium.connector.postgresql.PostgresConnectorTask"]
    assert (task.kind, task.location.name) == (JavaKind.SOURCE_TASK, "debezium-connector-postgres")
    assert tasks["org.apache.kafka.connect.file.FileStreamSinkTask"].kind is JavaKind.SINK_TASK


def test_kafka_connects_own_jars_are_not_installed(store: PluginStore) -> None:
    jars = {jar.name for jar in store.directory.rglob("*.jar")}
    assert not [jar for jar in jars if jar.startswith(("connect-api", "kafka-clients", "slf4j-api", "zstd-jni"))]
    assert {"postgresql-42.7.7.jar", f"connect-file-{KAFKA_VERSION}.jar"} <= jars


def test_installed_again_from_the_lock_file(store: PluginStore, tmp_path: Path) -> None:
    other = PluginStore(tmp_path / "plugins")
    other.directory.mkdir()
    shutil.copy(store.directory / "plugins.lock", other.directory)
    other.install_locked()
    assert sorted(jar.relative_to(other.directory) for jar in other.directory.rglob("*.jar")) == sorted(
        jar.relative_to(store.directory) for jar in store.directory.rglob("*.jar")
    )


def test_a_jar_that_is_not_that_of_the_checksum_is_not_installed(
    store: PluginStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, settings = tmp_path / "shop" / "plugin" / "1.0" / "plugin-1.0", tmp_path / "ivysettings.xml"
    repository.parent.mkdir(parents=True)
    names = "<groupId>shop</groupId><artifactId>plugin</artifactId><version>1.0</version>"
    repository.with_name("plugin-1.0.pom").write_text(f"<project><modelVersion>4.0.0</modelVersion>{names}</project>")
    jar = next(store.directory.glob("connect-file*/connect-file-*.jar"))
    shutil.copy(jar, repository.with_name("plugin-1.0.jar"))
    checksum = repository.with_name("plugin-1.0.jar.sha1")
    resolver = f'<ibiblio name="local" m2compatible="true" root="{tmp_path.as_uri()}/"/>'
    settings.write_text(
        f'<ivysettings><settings defaultResolver="local"/><resolvers>{resolver}</resolvers></ivysettings>'
    )
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    installed = PluginStore(tmp_path / "plugins")
    checksum.write_text("0" * 40)
    with pytest.raises(ConnectError, match=r"plugin\.jar is not what its repository has a checksum of \(sha1 0000"):
        installed.install("shop:plugin:1.0")
    assert installed.installed() == []
    assert not list((tmp_path / "plugins").glob("**/*.jar"))
    checksum.write_text(hashlib.sha1(jar.read_bytes()).hexdigest())
    assert installed.install("shop:plugin:1.0").name
