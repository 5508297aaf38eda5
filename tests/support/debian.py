# SPDX-License-Identifier: Apache-2.0
"""Debian's packages for tests that need programs beside Python's and Java's."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

_INSTALLING: Final = 600
_GET: Final = ("apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300")


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


def _is_installed(package: str) -> bool:
    told = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
    return told.stdout == "install ok installed"


def _apt_get(*arguments: str, for_: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            [*_GET, *arguments],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
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
