# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.jvm import ivy
from headrace.jvm.java_runtime import JavaRuntime

WANTED = [("g", "a", "1")]


def fake_java(home: Path, script: str) -> JavaRuntime:
    """A `java` that runs `script`, with the directory of the retrieve pattern in `$target`."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    find_target = 'while [ "$1" != -retrieve ]; do shift; done; target=$(dirname "$2")\n'
    launcher.write_text(f"#!/bin/sh\n{find_target}{script}\n")
    launcher.chmod(0o755)
    return JavaRuntime(home, 17, "test")


def test_jars_are_fetched_once_and_then_listed_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = 'echo "downloading https://host/g/b-2.jar ..."; touch "$target/b-2.jar" "$target/a-1.jar"'
    java = fake_java(tmp_path / "java", script)
    monkeypatch.setattr(ivy, "find_java", lambda: java)
    downloads: list[str] = []
    directory = tmp_path / "cache" / "jars" / "g_a_1"
    expected = (directory / "a-1.jar", directory / "b-2.jar")
    assert ivy.resolve_jars(["g:a:1"], tmp_path / "cache", downloads.append) == expected
    assert downloads == ["b-2.jar"]

    monkeypatch.setattr(ivy, "find_java", lambda: pytest.fail("no JVM the second time"))
    assert ivy.resolve_jars(["g:a:1"], tmp_path / "cache") == expected


def test_what_a_failed_run_left_is_not_taken_for_the_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", 'touch "$target/a-1.jar"; echo "disk full"; exit 1')
    monkeypatch.setattr(ivy, "find_java", lambda: broken)
    with pytest.raises(ConnectError, match=r"Cannot download g:a:1: disk full$"):
        ivy.resolve_jars(["g:a:1"], tmp_path / "cache")
    assert not (tmp_path / "cache" / "jars" / "g_a_1").exists()


def test_different_sets_lie_in_different_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = fake_java(tmp_path / "java", 'touch "$target/x.jar"')
    monkeypatch.setattr(ivy, "find_java", lambda: java)
    sets = (["g:a:1"], ["g:a:1", "g:b:1"], ["g:a:1", "g:c:1"])
    assert len({ivy.resolve_jars(names, tmp_path)[0].parent for names in sets}) == 3


def test_jars_that_are_not_those_that_are_pinned_are_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = fake_java(tmp_path / "java", 'printf good > "$target/a.jar"; printf "$B" > "$target/b.jar"')
    monkeypatch.setattr(ivy, "find_java", lambda: java)
    file = tmp_path / "pins"
    digests = [hashlib.sha256(text).hexdigest() for text in (b"good", b"fine")]
    file.write_text("".join(f"{digest}  {name}\n" for digest, name in zip(digests, ("a.jar", "b.jar"), strict=True)))
    pins = ivy.read_pins(file)
    monkeypatch.setenv("B", "evil")
    with pytest.raises(ConnectError, match=r"differs .* in b\.jar, and is not used"):
        ivy.resolve_jars(["g:a:1"], tmp_path, pins=pins)
    assert not list((tmp_path / "jars").glob("g*"))
    monkeypatch.setenv("B", "fine")
    for others, name in (({**pins, "c.jar": digests[0]}, "c.jar"), ({"a.jar": digests[0]}, "b.jar")):
        with pytest.raises(ConnectError, match=f"in {name}"):
            ivy.resolve_jars(["g:a:1"], tmp_path, pins=others)
    assert len(ivy.resolve_jars(["g:a:1"], tmp_path, pins=pins)) == 2


@pytest.mark.parametrize("coordinate", ["", "a", "a:b", "a:b:", "a:b:c:d:e"])
def test_a_malformed_coordinate_is_named(coordinate: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"'{coordinate}': expected group:name:version"):
        ivy.resolve_jars([coordinate], tmp_path)


def test_the_module_descriptor_asks_for_run_time_dependencies_only() -> None:
    module = ElementTree.fromstring(ivy._module_descriptor([("g", "a&b", "1"), ("h", "c", "2")]))
    assert [dependency.attrib for dependency in module.iter("dependency")] == [
        {"org": "g", "name": "a&b", "rev": "1", "conf": "default->default"},
        {"org": "h", "name": "c", "rev": "2", "conf": "default->default"},
    ]


def test_a_jar_with_a_classifier_is_taken_beside_the_artifacts_own() -> None:
    wanted = [("g", "a", "1"), ("h", "c", "2", "runner"), ("g", "a", "1", "tests"), ("i", "plain", "3")]
    module = ElementTree.fromstring(ivy._module_descriptor(wanted))
    classifier = "{http://ant.apache.org/ivy/maven}classifier"
    jars = {each.get("name"): [jar.get(classifier) for jar in each] for each in module.iter("dependency")}
    assert jars == {"a": [None, "tests"], "c": ["runner"], "plain": []}


def test_an_unknown_artifact_is_named() -> None:
    output = "module not found: g#a;1\n\t\t:: g#a;1: not found\n"
    error = ivy._failure(output, WANTED)
    assert type(error) is ConfigError
    assert str(error) == "Cannot download g:a:1: the repository has no g:a:1"


def test_an_unreachable_repository_is_retriable_and_not_taken_for_an_unknown_artifact() -> None:
    output = ":: g#a;1: not found\n\tServer access error at url https://h/a.pom (java.net.UnknownHostException: h)\n"
    error = ivy._failure(output, WANTED)
    assert type(error) is RetriableError
    assert str(error) == "Cannot download g:a:1: the repository cannot be reached (h)"


def test_proxy_variables_reach_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy.urllib.request, "getproxies", lambda: {"https": "http://p:3128", "no": "localhost"})
    assert ivy._proxy_options() == ["-Dhttps.proxyHost=p", "-Dhttps.proxyPort=3128"]
