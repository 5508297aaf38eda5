# SPDX-License-Identifier: Apache-2.0
"""What tests need beside Python and Java: Debian's packages, and a reason where something cannot be had."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import pytest

from headrace.api.errors import ConfigError, RetriableError

T = TypeVar("T")

_INSTALLING: Final = 600
_GET: Final = ("apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300")


def or_skip(found: Callable[[], T]) -> T:
    """Return what is found; skip the test, and say why, where it is not there and cannot be fetched or installed."""
    try:
        return found()
    except (ConfigError, RetriableError) as error:
        pytest.skip(str(error))


def can_install() -> bool:
    """Whether this is Debian or one of its kind, and we are root."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(*packages: str) -> None:
    """Install those that are missing. ConfigError, with what apt-get said, where they cannot be installed."""
    with (Path(tempfile.gettempdir()) / "headrace-apt-get.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [package for package in packages if not _is_installed(package)]
        if missing:
            _apt_get("update", for_=missing)
            _apt_get("install", "--no-install-recommends", *missing, for_=missing)


def unpack(package: str, directory: Path) -> None:
    """Unpack one package, without what it depends on and without running anything of it: no service is started.

    ConfigError, with what apt-get said, where it cannot be fetched.
    """
    with (Path(tempfile.gettempdir()) / "headrace-apt-get.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(directory.glob("*")):
            return
        _apt_get("update", for_=[package])
        with tempfile.TemporaryDirectory() as fetched:
            _apt_get("download", package, for_=[package], directory=fetched)
            [file] = Path(fetched).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", str(file), str(directory)], check=True)


def _is_installed(package: str) -> bool:
    reported = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
    return reported.stdout == "install ok installed"


def _apt_get(*arguments: str, for_: Sequence[str], directory: str | None = None) -> None:
    try:
        done = subprocess.run(
            [*_GET, *arguments],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_INSTALLING,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"Cannot install {', '.join(for_)}: apt-get takes more than {_INSTALLING} s") from error
    if done.returncode != 0:
        raise ConfigError(f"Cannot install {', '.join(for_)}: apt-get {arguments[0]} said: {done.stdout[-300:]}")
