# SPDX-License-Identifier: Apache-2.0
"""A plugin directory of BadSource.java, as it is compiled and with class files and jars that are broken."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from headrace.java.jvm import runtime_jars
from headrace.jvm.java_runtime import find_java
from tests.support.debian import or_skip

JAVA_17 = b"\0\0\0\x3d"
NEWER = b"\0\0\0\x63"
MAGIC = b"\xca\xfe\xba\xbe"


def bad_plugins(directory: Path) -> Path:
    """Return the plugin directory; the test is skipped without a compiler."""
    classes, plugins = directory / "classes", directory / "plugins"
    _compile(classes)
    (classes / "Missing.class").unlink()
    for file in classes.glob("BadSource$Newer*.class"):
        file.write_bytes(MAGIC + NEWER + file.read_bytes()[8:])
    (classes / "BadSource$Garbage.class").write_bytes(MAGIC + JAVA_17 + b"\xff" * 200)
    jar = plugins / "bad" / "bad.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for file in sorted(classes.iterdir()):
            archive.write(file, file.name)
        # Declared, as its class file does not show it.
        archive.writestr("META-INF/services/org.apache.kafka.connect.source.SourceConnector", "BadSource$Garbage\n")
    whole = jar.read_bytes()
    (plugins / "truncated.jar").write_bytes(whole[: len(whole) // 2])
    (plugins / "text.jar").write_text("no zip file\n")
    return plugins


def _compile(classes: Path) -> None:
    home = find_java().home
    if not (home / "bin" / "javac").exists():
        pytest.skip(f"{home} has no javac")
    classpath = ":".join(map(str, or_skip(runtime_jars)))
    source = Path(__file__).with_name("BadSource.java")
    command = [home / "bin" / "javac", "-nowarn", "-cp", classpath, "-d", classes, source]
    subprocess.run(command, check=True, capture_output=True)
