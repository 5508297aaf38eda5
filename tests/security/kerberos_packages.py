# SPDX-License-Identifier: Apache-2.0
"""Python packages with Kerberos, as `scripts/kerberos.py` builds them: once, into the user's cache (a few minutes)."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError
from headrace.jvm.user_cache import cache_directory, make_once
from scripts.kerberos import DEBIAN_PACKAGES
from tests.security.kerberos import missing_programs
from tests.support.debian import can_install, install

_ROOT: Final = Path(__file__).parents[2]
_BUILDING: Final = 900
_AGAIN_AFTER: Final = 1800
"""Seconds for which a build that failed is not tried again: each process of a run would."""
_MADE_OF: Final = ("scripts/kerberos.py", "requirements-kerberos.lock", "requirements-kerberos-build.lock")
_AT_RUN_TIME: Final = ("krb5-admin-server", "krb5-kdc", "krb5-user", "libsasl2-modules-gssapi-mit")


def built_packages() -> Path:
    """Return a directory for PYTHONPATH. Debian's packages are installed where they are missing and we are root.

    ConfigError where there is no KDC to be had, or no compiler, or no source.
    """
    made_of = b"".join((_ROOT / name).read_bytes() for name in _MADE_OF)
    digest = hashlib.sha256(made_of + str(sysconfig.get_config_var("EXT_SUFFIX")).encode()).hexdigest()
    directory = cache_directory() / "kerberos" / digest[:16]
    if can_install():
        install(*_AT_RUN_TIME, *(() if directory.is_dir() else DEBIAN_PACKAGES))
    if missing := missing_programs():
        raise ConfigError(f"Not installed: {', '.join(missing)}; apt-get install {' '.join(_AT_RUN_TIME)}")
    failed = directory.with_suffix(".failed")
    if failed.exists() and time.time() - failed.stat().st_mtime < _AGAIN_AFTER:
        raise ConfigError(failed.read_text())
    try:
        return make_once(directory, _build)
    except ConfigError as error:
        with suppress(OSError):
            failed.write_text(str(error))
        raise


def _build(directory: Path) -> None:
    wheels = directory / "wheels"
    _run(str(_ROOT / "scripts" / "kerberos.py"), str(wheels))
    _run("-m", "pip", "install", "-q", "--no-deps", "--target", str(directory), *map(str, wheels.glob("*.whl")))


def _run(*arguments: str) -> None:
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_BUILDING)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"Building packages with Kerberos takes more than {_BUILDING} s") from error
    if done.returncode != 0:
        raise ConfigError(f"Packages with Kerberos cannot be built: {done.stderr[-2000:]}")
