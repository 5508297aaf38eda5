# SPDX-License-Identifier: Apache-2.0
"""Build the Python packages with which Kafka clients speak Kerberos, as wheels: for docs/guide/kafka-security.md.

`kerberos.py DIRECTORY` leaves there confluent-kafka with a librdkafka of its own that has Cyrus SASL, and gssapi with
what it needs. librdkafka's source comes from the npm package of Confluent's JavaScript client, in which it is whole;
`--source` names an archive of one's own instead. Needs a C compiler, npm (not with `--source`), and headers: on Debian
the packages of `DEBIAN_PACKAGES`. A few minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import Final

DEBIAN_PACKAGES: Final = (
    *("gcc", "libc6-dev", "make", "pkg-config"),
    *("libkrb5-dev", "libsasl2-dev", "libssl-dev", "libzstd-dev", "zlib1g-dev"),
)
_ROOT: Final = Path(__file__).parents[1]
_VERSION: Final = "2.15.1"
"""Of librdkafka and of confluent-kafka, which must not be newer than it."""
_NPM_PACKAGE: Final = "@confluentinc/kafka-javascript@1.10.1"
_NPM_SHA256: Final = "ada7d703bb1d3237e2292bfabf438d663b6160c9f1ac2a2406b5dc4257c81b66"
_WITH: Final = ("--enable-gssapi", "--enable-ssl", "--enable-zlib", "--enable-zstd")
_WITHOUT: Final = ("--disable-curl", "--disable-lz4-ext", "--disable-syslog", "--disable-debug-symbols")
_LIBRARIES: Final = ("sasl2", "ssl", "crypto", "z", "zstd")
_LAST_LINES: Final = 15


class CannotBuildError(Exception):
    """The message is for the user."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="kerberos.py", description="Build Python packages with Kerberos, as wheels.")
    parser.add_argument("directory", type=Path, help="where the wheels go; made if missing")
    parser.add_argument("--source", type=Path, help=f"librdkafka {_VERSION} as .tar.gz, where npm cannot fetch it")
    given = parser.parse_args(arguments)
    try:
        build(given.directory, given.source)
    except CannotBuildError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print("\n".join(sorted(str(wheel) for wheel in given.directory.glob("*.whl"))))
    return 0


def build(directory: Path, source: Path | None = None) -> None:
    """Put the wheels into ``directory``. CannotBuildError if they cannot be built here."""
    with tempfile.TemporaryDirectory(prefix="headrace-kerberos-") as temporary:
        work = Path(temporary)
        library = _librdkafka(_unpacked(source or _fetched(work), work / "source"))
        _wheels(library, work, directory)


def _fetched(work: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotBuildError(f"npm is not installed; name an archive of librdkafka {_VERSION} with --source instead")
    _run([npm, "pack", _NPM_PACKAGE, "--silent", "--ignore-scripts", "--pack-destination", str(work)], work)
    archive = next(work.glob("*.tgz"))
    if hashlib.sha256(archive.read_bytes()).hexdigest() != _NPM_SHA256:
        raise CannotBuildError(f"{_NPM_PACKAGE} as npm gives it is not what is pinned (SHA-256), and is not used")
    return archive


def _unpacked(archive: Path, target: Path) -> Path:
    """Return the directory of librdkafka's source, wherever it is in ``archive``."""
    with tarfile.open(archive) as files:
        files.extractall(target, filter="data")
    found = sorted((script.parent for script in target.rglob("configure.self")), key=lambda path: len(path.parts))
    if not found:
        raise CannotBuildError(f"{archive} has no source of librdkafka")
    return found[0]


def _librdkafka(source: Path) -> Path:
    """Build librdkafka, and return a directory that has `lib` with nothing but the archive to link, and `include`."""
    _run(["bash", "./configure", "--no-download", *_WITH, *_WITHOUT], source)
    if f'RDKAFKA_VERSION_STR "{_VERSION}"' not in (source / "config.h").read_text():
        raise CannotBuildError(f"{source} is not librdkafka {_VERSION}")
    _run(["make", f"-j{os.cpu_count() or 1}", "-C", "src", "librdkafka.a"], source)
    library = source / "built"
    headers = library / "include" / "librdkafka"
    headers.mkdir(parents=True)
    (library / "lib").mkdir()
    for name in ("rdkafka.h", "rdkafka_mock.h"):
        shutil.copy(source / "src" / name, headers)
    # Without a shared library beside it the linker takes the archive: the wheel is whole by itself.
    shutil.copy(source / "src" / "librdkafka.a", library / "lib")
    return library


def _wheels(library: Path, work: Path, directory: Path) -> None:
    venv.create(work / "venv", with_pip=True)
    pip = [str(work / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    hashes = ("--require-hashes", "--requirement")
    _run([*pip, "install", *hashes, str(_ROOT / "requirements-kerberos-build.lock")], work)
    locked = [*hashes, str(_ROOT / "requirements-kerberos.lock"), "--wheel-dir", str(directory.absolute())]
    ours = ["--no-deps", "--no-cache-dir", "--no-build-isolation", "--no-binary", "confluent-kafka,gssapi"]
    link = " ".join(f"-l{name}" for name in _LIBRARIES)
    compiler = {
        "C_INCLUDE_PATH": str(library / "include"),
        "LIBRARY_PATH": str(library / "lib"),
        "LDFLAGS": f"-Wl,--no-as-needed {link} -Wl,-s",
        "CFLAGS": "-g0",
    }
    _run([*pip, "wheel", *ours, *locked], work, compiler)


def _run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-_LAST_LINES:])
        needs = f"On Debian it needs: apt-get install {' '.join(DEBIAN_PACKAGES)}"
        raise CannotBuildError(f"'{' '.join(command)}' ended with {done.returncode}:\n{last}\n{needs}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
