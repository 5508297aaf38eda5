# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.jvm.java_runtime import JavaRuntime
from headrace.spark.engine.class_archive import ClassArchive, class_archive, remove_orphans


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JavaRuntime:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    return JavaRuntime(tmp_path / "java", 17, "PATH")


def test_each_java_and_each_spark_has_one_of_its_own(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = class_archive(java)
    assert class_archive(java) == first
    assert class_archive(JavaRuntime(tmp_path / "other", 17, "PATH")).path != first.path
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert class_archive(java).path != first.path


def test_jars_that_are_installed_again_need_an_archive_of_their_own(
    java: JavaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM refuses one that was made with others, wherever these lay."""
    home = tmp_path / "spark"
    jar = home / "jars" / "spark-core.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"1")
    monkeypatch.setenv("SPARK_HOME", str(home))
    former = class_archive(java)
    other_java = ClassArchive(former.directory.parent / "java21-abc", home)
    for archive in (former, other_java):
        archive.directory.mkdir(parents=True)
        archive.note_owner(archive.directory)
    os.utime(jar, (1, 1))
    successor = class_archive(java)
    assert successor.path != former.path
    remove_orphans(former)
    assert former.made
    remove_orphans(successor)
    assert (former.made, other_java.made) == (False, True)


def test_there_is_nothing_to_use_before_it_is_made(java: JavaRuntime) -> None:
    archive = class_archive(java)
    assert not archive.made
    assert archive.jvm_options == ()
    archive.directory.mkdir(parents=True)
    assert archive.made  # in vain, which need not be repeated
    assert archive.jvm_options == ()
    archive.path.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.jvm_options


def test_what_belongs_to_a_removed_installation_is_removed(java: JavaRuntime, tmp_path: Path) -> None:
    kept, gone = (
        ClassArchive(class_archive(java).directory.parent / name, tmp_path / name) for name in ("kept", "gone")
    )
    for archive in (kept, gone):
        archive.directory.mkdir(parents=True)
        archive.note_owner(archive.directory)
        archive.spark_home.mkdir()
    remove_orphans()
    assert kept.made and gone.made
    gone.spark_home.rmdir()
    remove_orphans()
    assert kept.made
    assert not gone.made
