# SPDX-License-Identifier: Apache-2.0
"""Download of Java archives with their runtime dependencies, by the Ivy that ships among pyspark's jars."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.jvm.java_runtime import find_java
from headrace.jvm.user_cache import JARS, cache_directory, locked, make_once

IVY_SETTINGS = "HEADRACE_IVY_SETTINGS"
"""Environment variable: an Ivy settings file, where jars shall come from elsewhere than Maven Central."""

Progress = Callable[[str], None]

_JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-Dsun.net.client.defaultConnectTimeout=20000",
    "-Dsun.net.client.defaultReadTimeout=60000",
    # Looking for sources and javadoc would double the requests.
    "-Divy.maven.lookup.sources=false",
    "-Divy.maven.lookup.javadoc=false",
)
_MAVEN = "http://ant.apache.org/ivy/maven"
"""The XML namespace of what only Maven has, in a descriptor of Ivy."""
_ARTIFACT_PATTERN = "[artifact]-[revision](-[classifier]).[ext]"


def resolve_jars(
    coordinates: Sequence[str],
    cache: Path | None = None,
    progress: Progress | None = None,
    pins: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Return the jars of Maven `coordinates` and their runtime dependencies, sorted by name.

    A coordinate is `group:name:version`, or `group:name:version:classifier` for another jar of the same artifact.
    The first call downloads them to `cache` (the user's cache directory by default), which takes about a minute for a
    Kafka broker; any later one only lists them. `progress` is called with each file's name as its download begins.
    Processes that ask for the same jars at once download them once. `pins` has the SHA-256 of each jar, by file name:
    jars that are not just these are not kept.

    Raises:
        ConfigError: a coordinate is malformed or unknown, or the cache cannot be written.
        NoJavaError: there is no Java.
        ConnectError: a downloaded file is not the pinned one, or not that of the repository's checksum.
        RetriableError: the repository cannot be reached.
    """
    root = cache or cache_directory()
    dependencies = [_parse(coordinate) for coordinate in coordinates]

    def build(target: Path) -> None:
        _retrieve(dependencies, target, root / "ivy", progress or (lambda _: None))
        if pins is not None:
            _check(target, pins)

    directory = make_once(root / JARS / _directory_name(coordinates), build)
    return tuple(sorted(directory.glob("*.jar")))


def read_pins(path: Path) -> dict[str, str]:
    """Read the SHA-256 of files by their names, as `sha256sum` prints them."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: digest for digest, name in lines}


def _check(directory: Path, pins: Mapping[str, str]) -> None:
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in directory.glob("*.jar")}
    wrong = sorted(name for name in found.keys() | pins.keys() if found.get(name) != pins.get(name))
    if wrong:
        raise ConnectError(
            f"What was downloaded differs from what headrace was tested with (SHA-256) in {', '.join(wrong)}, and "
            "is not used. Find out where it comes from"
        )


def _parse(coordinate: str) -> tuple[str, ...]:
    parts = tuple(coordinate.split(":"))
    if len(parts) not in (3, 4) or not all(parts):
        raise ConfigError(f"Invalid Maven coordinate '{coordinate}': expected group:name:version[:classifier]")
    return parts


def _directory_name(coordinates: Sequence[str]) -> str:
    first = coordinates[0].replace(":", "_")
    if len(coordinates) == 1:
        return first
    return f"{first}+{hashlib.sha256(' '.join(coordinates).encode()).hexdigest()[:12]}"


def _retrieve(dependencies: Sequence[tuple[str, ...]], target: Path, ivy_cache: Path, progress: Progress) -> None:
    ivy_cache.mkdir(parents=True, exist_ok=True)
    # Ivy's own cache is shared by all coordinates and not safe for two processes.
    with tempfile.TemporaryDirectory() as directory, locked(ivy_cache / ".lock"):
        module = Path(directory) / "ivy.xml"
        module.write_bytes(_module_descriptor(dependencies))
        exit_code, output = _run(_command(module, target, ivy_cache), progress)
    if exit_code != 0:
        raise _failure(output, dependencies)


def _module_descriptor(dependencies: Sequence[tuple[str, ...]]) -> bytes:
    module = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(module, "info", organisation="headrace", module="jars")
    configurations = ElementTree.SubElement(module, "configurations")
    ElementTree.SubElement(configurations, "conf", name="default")
    listed = ElementTree.SubElement(module, "dependencies")
    jars: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for group, name, version, *classifier in dependencies:
        jars.setdefault((group, name, version), []).append(tuple(classifier))
    for (group, name, version), classifiers in jars.items():
        wanted = {"org": group, "name": name, "rev": version, "conf": "default->default"}
        dependency = ElementTree.SubElement(listed, "dependency", wanted)
        # An artifact's own jar need not be named unless one with a classifier is.
        for named in classifiers if any(classifiers) else ():
            attributes = {f"{{{_MAVEN}}}classifier": each for each in named}
            ElementTree.SubElement(dependency, "artifact", {"name": name, "type": "jar", "ext": "jar", **attributes})
    return ElementTree.tostring(module)


def _command(module: Path, target: Path, ivy_cache: Path) -> list[str]:
    java = find_java().java
    arguments = ["-cache", str(ivy_cache), "-ivy", str(module), "-confs", "default"]
    # Some jars' POMs say packaging `bundle`; `-types` takes them as further arguments, so it stands last.
    arguments += ["-retrieve", str(target / _ARTIFACT_PATTERN), "-types", "jar", "bundle"]
    if settings := os.environ.get(IVY_SETTINGS):
        arguments = ["-settings", settings, *arguments]
    return [str(java), *_JVM_OPTIONS, *_proxy_options(), "-cp", str(_ivy_jar()), "org.apache.ivy.Main", *arguments]


def _ivy_jar() -> Path:
    # Found without importing pyspark: this layer lies below the one that may.
    spec = importlib.util.find_spec("pyspark")
    jars = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar")) if spec and spec.origin else []
    if not jars:
        raise ConfigError("Cannot find Ivy among pyspark's jars. Install pyspark with pip, with its jars")
    return jars[-1]


def _proxy_options() -> list[str]:
    """Return JVM options for the proxy variables of the environment, which a JVM does not read itself."""
    options = []
    for scheme, url in urllib.request.getproxies().items():
        address = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
        if scheme in ("http", "https") and address.hostname:
            options += [f"-D{scheme}.proxyHost={address.hostname}", f"-D{scheme}.proxyPort={address.port or 80}"]
    return options


def _run(command: Sequence[str], progress: Progress) -> tuple[int, str]:
    """Run Ivy, report each download to `progress`, return the exit code and the output."""
    lines = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        try:
            for line in ivy.stdout:
                lines.append(line)
                if matched := re.match(r"downloading \S*/(\S+\.jar) ", line):
                    progress(matched[1])
        except BaseException:
            ivy.kill()
            raise
    return ivy.returncode, "".join(lines)


def _failure(output: str, dependencies: Sequence[tuple[str, ...]]) -> ConnectError:
    wanted = ", ".join(":".join(dependency) for dependency in dependencies)
    if matched := re.search(r"Server access error at url \S+ \((?:[\w.]+: )?(.*)\)", output):
        return RetriableError(f"Cannot download {wanted}: the repository cannot be reached ({matched[1]})")
    missing = re.findall(r":: (\S+)#(\S+);(\S+): not found", output)
    if missing:
        names = ", ".join(":".join(coordinate) for coordinate in missing)
        return ConfigError(f"Cannot download {wanted}: the repository has no {names}")
    if matched := re.search(r"(\S+): invalid (\w+): expected=(\S+) computed=(\S+)", output):
        return ConnectError(
            f"Cannot download {wanted}: {matched[1]} is not what its repository has a checksum of ({matched[2]} "
            f"{matched[3]}; downloaded was {matched[4]}). Find out what lies between here and the repository"
        )
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "Ivy printed nothing")
    return ConnectError(f"Cannot download {wanted}: {last}")
