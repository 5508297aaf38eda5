# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.kafka.java_runtime import JavaRuntime
from headrace.spark.class_archive import ClassArchive, class_archive, remove_orphans


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
