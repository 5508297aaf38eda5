# SPDX-License-Identifier: Apache-2.0
"""Plugins that are installed from archives; those of Maven Central are in tests/java."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.java import store as store_module
from headrace.java.archives import unpack
from headrace.java.store import PluginStore
from tests.unit.jars import shop_plugin


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path: Path) -> PluginStore:
    return PluginStore(tmp_path / "plugins")


def directory_of_shop(tmp_path: Path, version: str = "1.2") -> Path:
    made = tmp_path / f"made-{version}"
    shop_plugin(made, version)
    return made / "shop"


def zipped(directory: Path, file: Path, top: str = "") -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for each in sorted(directory.rglob("*.jar")):
            archive.write(each, f"{top}{each.relative_to(directory)}")
    return file


def tarred(directory: Path, file: Path, top: str) -> Path:
    with tarfile.open(file, "w:gz") as archive:
        archive.add(directory, top)
    return file


def entries(store: PluginStore) -> list[str]:
    return sorted(str(path.relative_to(store.directory)) for path in store.directory.rglob("*") if path.is_file())


JARS = ["plugins.lock", "shop/lib/shop-core-1.2.jar", "shop/shop-1.2.jar"]


@pytest.mark.parametrize("form", ["directory", "zip", "zip with a directory", "tar.gz"])
def test_forms_of_archives(store: PluginStore, tmp_path: Path, form: str) -> None:
    directory = directory_of_shop(tmp_path)
    source = {
        "directory": lambda: directory,
        "zip": lambda: zipped(directory, tmp_path / "shop-1.2.zip"),
        "zip with a directory": lambda: zipped(directory, tmp_path / "x.zip", "shop-1.2.0-SNAPSHOT/"),
        "tar.gz": lambda: tarred(directory, tmp_path / "shop-1.2.Final-plugin.tar.gz", "shop"),
    }[form]()
    installed = store.install(str(source))
    assert installed.name == "shop"
    assert [plugin.class_name for plugin in installed.provides] == ["shop.ShopSourceConnector"]
    assert [entry for entry in entries(store) if not entry.startswith(".")] == JARS
    assert store.installed() == [installed]
    assert store.damaged("shop") == []
    lock = json.loads((store.directory / "plugins.lock").read_text())
    assert lock["plugins"]["shop"]["source"] == str(source)
    assert set(lock["plugins"]["shop"]["jars"]) == {"lib/shop-core-1.2.jar", "shop-1.2.jar"}


def test_a_single_jar_without_what_it_needs_is_refused(store: PluginStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"core-1\.2\.jar has no connector, converter, transformation or predicate"):
        store.install(str(directory_of_shop(tmp_path) / "lib" / "shop-core-1.2.jar"))
    assert entries(store) == [".lock"]


def test_another_version_takes_its_place(store: PluginStore, tmp_path: Path) -> None:
    store.install(str(directory_of_shop(tmp_path)))
    store.install(str(zipped(directory_of_shop(tmp_path, "2.0"), tmp_path / "shop-2.0.zip")))
    assert [plugin.provides[0].version for plugin in store.installed()] == ["2.0"]
    assert [entry for entry in entries(store) if entry.startswith("shop/")] == [
        "shop/lib/shop-core-2.0.jar",
        "shop/shop-2.0.jar",
    ]


def test_what_others_have_put_there_is_not_replaced(store: PluginStore, tmp_path: Path) -> None:
    (store.directory / "shop").mkdir(parents=True)
    (store.directory / "shop" / "own.txt").touch()
    with pytest.raises(ConfigError, match="was not installed by headrace; remove it first"):
        store.install(str(directory_of_shop(tmp_path)))
    assert entries(store) == [".lock", "shop/own.txt"]


def test_locked(store: PluginStore, tmp_path: Path) -> None:
    source = directory_of_shop(tmp_path)
    expected = store.install(str(source))
    other = PluginStore(tmp_path / "other")
    other.directory.mkdir()
    (other.directory / "plugins.lock").write_bytes((store.directory / "plugins.lock").read_bytes())
    (installed,) = other.install_locked()
    assert (installed.name, installed.source) == (expected.name, expected.source)
    assert other.damaged("shop") == []
    before = (other.directory / "shop").stat().st_ino
    other.install_locked()  # it is there
    assert (other.directory / "shop").stat().st_ino == before
    (other.directory / "shop" / "shop-1.2.jar").write_bytes(b"other")
    assert other.damaged("shop") == ["shop-1.2.jar"]
    other.install_locked()  # it is mended
    assert other.damaged("shop") == []


def test_with_what_it_finds_when_it_runs(store: PluginStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver comes from Maven; tests/java has a download."""
    driver = tmp_path / "driver-1.jar"
    driver.write_bytes(b"driver")
    asked: list[list[str]] = []

    def plugin_jars(coordinates: list[str], progress: object) -> tuple[Path, ...]:
        asked.append(list(coordinates))
        return (driver,)

    monkeypatch.setattr(store_module, "plugin_jars", plugin_jars)
    installed = store.install(str(directory_of_shop(tmp_path)), more=["org.example:driver:1"])
    assert (installed.directory / "driver-1.jar").read_bytes() == b"driver"
    assert store.installed() == [installed] and installed.more == ("org.example:driver:1",)
    assert [plugin.class_name for plugin in installed.provides] == ["shop.ShopSourceConnector"]
    other = PluginStore(tmp_path / "other")
    other.directory.mkdir()
    (other.directory / "plugins.lock").write_bytes((store.directory / "plugins.lock").read_bytes())
    (again,) = other.install_locked()
    assert again.more == installed.more and asked == [["org.example:driver:1"]] * 2
    assert other.damaged("shop") == []
    driver.write_bytes(b"another")
    shutil.rmtree(again.directory)
    with pytest.raises(ConnectError, match=r"not what plugins\.lock has \(SHA-256\) in driver-1\.jar"):
        other.install_locked()


@pytest.mark.parametrize("change", ["changed", "added", "missing"])
def test_what_is_locked_is_not_replaced_by_anything_else(store: PluginStore, tmp_path: Path, change: str) -> None:
    source = directory_of_shop(tmp_path)
    store.install(str(source))
    jar = source / (
        "shop-1.2.jar" if change == "changed" else "more.jar" if change == "added" else "lib/shop-core-1.2.jar"
    )
    jar.unlink() if change == "missing" else jar.write_bytes(b"other")
    (store.directory / "shop" / "shop-1.2.jar").unlink()
    before = entries(store)
    with pytest.raises(ConnectError, match=rf"not what plugins\.lock has \(SHA-256\) in {jar.relative_to(source)}"):
        store.install_locked()
    assert entries(store) == before


def test_remove(store: PluginStore, tmp_path: Path) -> None:
    store.install(str(directory_of_shop(tmp_path)))
    store.remove("shop")
    assert store.installed() == []
    assert [entry for entry in entries(store) if not entry.startswith(".")] == ["plugins.lock"]
    with pytest.raises(KeyError):
        store.remove("shop")


def test_what_a_killed_process_has_left_is_removed(store: PluginStore, tmp_path: Path) -> None:
    (store.directory / ".installing-x" / "jars").mkdir(parents=True)
    store.install(str(directory_of_shop(tmp_path)))
    assert sorted(path.name for path in store.directory.iterdir()) == [".lock", "plugins.lock", "shop"]


def test_zip_paths_that_lead_out(store: PluginStore, tmp_path: Path) -> None:
    for name in ("../evil.jar", "/evil.jar", "a/../../evil.jar", "..\\evil.jar", "C:\\evil.jar"):
        with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
            archive.writestr(name, "evil")
        with pytest.raises(ConfigError, match="leads out of the directory"):
            store.install(str(tmp_path / "evil.zip"))
    assert not list(tmp_path.rglob("evil.jar"))


@pytest.mark.parametrize("kind", ["path", "absolute", "link", "hard link"])
def test_tar_paths_that_lead_out(store: PluginStore, tmp_path: Path, kind: str) -> None:
    with tarfile.open(tmp_path / "evil.tgz", "w:gz") as archive:
        if "link" in kind:
            entry = tarfile.TarInfo("evil")
            entry.type, entry.linkname = (tarfile.LNKTYPE if kind == "hard link" else tarfile.SYMTYPE), "../../out"
            archive.addfile(entry)
        entry = tarfile.TarInfo("../evil.jar" if kind == "path" else "evil/evil.jar")
        if kind == "absolute":
            entry = tarfile.TarInfo("x/../../../evil.jar")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"evil"))
    with pytest.raises(ConfigError, match="Cannot install"):
        store.install(str(tmp_path / "evil.tgz"))
    assert not list(tmp_path.rglob("evil.jar"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("missing.zip", "it is none of group:name:version, a directory, or a file that ends with .zip"),
        ("notes.txt", "it is none of"),
        ("broken.zip", "File is not a zip file"),
        ("broken.tar.gz", "Cannot install"),
        ("http://example.org/a.zip", "only https is safe"),
        ("file:///etc/passwd", "only https is safe"),
    ],
)
def test_what_cannot_be_installed(store: PluginStore, tmp_path: Path, source: str, reason: str) -> None:
    for name in ("notes.txt", "broken.zip", "broken.tar.gz"):
        (tmp_path / name).write_text("text")
    with pytest.raises(ConfigError, match=reason):
        store.install(source if "://" in source else str(tmp_path / source))


def test_a_lock_file_that_is_not_one(store: PluginStore, tmp_path: Path) -> None:
    store.directory.mkdir()
    for text in ("{", "[]", '{"format": 2}', '{"format": 1, "plugins": {"../x": {"source": "a", "jars": {}}}}'):
        (store.directory / "plugins.lock").write_text(text)
        with pytest.raises(ConfigError, match=r"plugins\.lock cannot be read"):
            store.installed()
    (store.directory / "plugins.lock").unlink()
    with pytest.raises(ConfigError, match="is missing or lists no plugin"):
        store.install_locked()


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        PluginStore(tmp_path / "file" / "plugins").install(str(directory_of_shop(tmp_path)))


def test_kafkas_own_jars_are_left_out(store: PluginStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = directory_of_shop(tmp_path)
    jars = [directory / "shop-1.2.jar", directory / "lib" / "shop-core-1.2.jar"]
    for name in (
        "connect-api-4.3.1",
        "kafka-clients-4.3.1",
        "slf4j-api-2.0",
        "connect-json-4.3.1",
        "zstd-jni-1.5",
        "jackson-databind-2.19",
    ):
        (tmp_path / f"{name}.jar").touch()
        jars.append(tmp_path / f"{name}.jar")
    monkeypatch.setattr("headrace.java.maven.resolve_jars", lambda coordinates, progress: tuple(jars))
    installed = store.install("acme:shop:1.2")
    assert (installed.name, installed.source) == ("shop", "acme:shop:1.2")
    assert [entry for entry in entries(store) if entry.endswith("jar")] == [
        "shop/shop-1.2.jar",
        "shop/shop-core-1.2.jar",
    ]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("debezium-connector-postgres-3.3.1.Final-plugin.tar.gz", "debezium-connector-postgres"),
        ("confluentinc-kafka-connect-jdbc-10.7.4.zip", "confluentinc-kafka-connect-jdbc"),
        ("jdbc-connector-for-apache-kafka-6.10.0.tar", "jdbc-connector-for-apache-kafka"),
        ("neo4j-kafka-connect-5.1.zip", "neo4j-kafka-connect"),
        ("v2.zip", "v2"),
    ],
)
def test_names_of_plugins(tmp_path: Path, file: str, name: str) -> None:
    directory = directory_of_shop(tmp_path)
    made = zipped(directory, tmp_path / file) if file.endswith(".zip") else tarred(directory, tmp_path / file, ".")
    (tmp_path / "t").mkdir()
    assert unpack(str(made), tmp_path / "t", lambda _: None)[1] == name


def test_nothing_is_left_when_it_fails_in_the_middle(
    store: PluginStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.install(str(directory_of_shop(tmp_path)))
    before = entries(store)

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module, "digests", failing)
    with pytest.raises(ConfigError, match="No space left on device"):
        store.install(str(directory_of_shop(tmp_path, "2.0")))
    assert entries(store) == before
