# SPDX-License-Identifier: Apache-2.0
"""Packages of npm in exact versions, kept in the user's cache; each tarball is checked against its SHA-512."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError
from headrace.jvm.user_cache import cache_directory, make_once

_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """``sha512``: of the tarball, in hexadecimal."""

    name: str
    version: str
    licence: str
    sha512: str

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


TYPESCRIPT: Final = NpmPackage(
    "typescript",
    "5.9.3",
    "Apache-2.0",
    "8e5d6f6733c38a72ebf5e52ddc9feded5e8580d130f508ef04f772b33f4a7d00"
    "c3e357d0ac2d98e2f290762694a454f86d795bd511e12e9a7cc2d9ba3394e04b",
)
AXE: Final = NpmPackage(
    "axe-core",
    "4.14.1",
    "MPL-2.0",
    "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b73"
    "4f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5",
)


def unpacked(package: NpmPackage) -> Path:
    """Return the directory of an unpacked package; fetch it by npm if it is not in the cache.

    Raise ConfigError if there is no npm, it cannot fetch, or the tarball is another one than is pinned.
    """
    directory = cache_directory() / "npm" / package.spec.replace("/", "+")
    return make_once(directory, lambda temporary: _fetch(package, temporary)) / "package"


def _fetch(package: NpmPackage, directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ConfigError(f"There is no npm on this machine to fetch {package.spec} with")
    try:
        ended = subprocess.run(
            [npm, "pack", "--silent", "--pack-destination", str(directory), package.spec],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"npm has not fetched {package.spec} within {_SECONDS} s") from error
    if ended.returncode != 0:
        raise ConfigError(f"npm cannot fetch {package.spec}: {ended.stderr.strip()[-300:]}")
    [tarball] = directory.glob("*.tgz")
    found = hashlib.sha512(tarball.read_bytes()).hexdigest()
    if found != package.sha512:
        raise ConfigError(f"The tarball of {package.spec} has the SHA-512 {found}, which is not the pinned one")
    with tarfile.open(tarball) as archive:
        archive.extractall(directory, filter="data")
    tarball.unlink()
