# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of Singer's taps and targets: one for each, so that their dependencies never meet.

An environment is a directory ``<data directory>/singer/<name>`` with a link ``current`` to the virtual environment in
use, which has a file ``requirements.lock`` of what is installed. `connectors.singer.commands` finds executables there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.connectors.singer.commands import CURRENT, ENVIRONMENT_NAME, environments_directory
from headrace.jvm.user_cache import locked

LOCK: Final = "requirements.lock"
_REQUEST: Final = "request"
_KINDS: Final = ("tap", "target")
_SAID: Final = 300
_LONGEST: Final = 1_800


@dataclass(frozen=True, slots=True)
class SingerEnvironment:
    """An installed tap or target: ``request`` is what was asked for, ``executables`` are those of taps and targets."""

    name: str
    request: str
    executables: tuple[str, ...]
    lock: str

    @property
    def version(self) -> str:
        """The installed version of the package with the environment's name; empty if there is none."""
        pins = dict(line.lower().split("==", 1) for line in self.lock.splitlines() if "==" in line)
        requested = ENVIRONMENT_NAME.match(self.request)
        return pins.get((requested[0] if requested else self.name).lower().replace("_", "-"), "")


def install(
    request: str, name: str | None = None, directory: Path | None = None, lock: Path | None = None
) -> SingerEnvironment:
    """Install a package, as pip names it, into a new environment, and put that in the place of a former one.

    ``name`` is by default that of the package; ``lock`` is the ``requirements.lock`` of another environment, whose
    versions are installed. Runs that use the former environment may fail, and are repeated.

    Raises:
        ConfigError: the name is not valid, there is no such package, or it does not fit the lock.
        ConnectError: the environment cannot be made.
    """
    found = None if "/" in request else ENVIRONMENT_NAME.match(request)
    name = name or (found[0] if found else "")
    if request.startswith("-") or not ENVIRONMENT_NAME.fullmatch(name):
        raise ConfigError(f"'{request}' has no valid name of a tap or target: set one with --name")
    home = (directory or environments_directory()) / name
    try:
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / ".lock"):
            made = Path(tempfile.mkdtemp(prefix="venv-", dir=home))
            try:
                _fill(made, request, name, lock)
                _put_in_place(home, made)
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                _remove_if_unused(home)
                raise
    except OSError as error:
        raise ConnectError(f"An environment cannot be made in {home}: {error.strerror or error}") from error
    return _read(home)


def installed(directory: Path | None = None) -> list[SingerEnvironment]:
    """Return all environments, by name."""
    root = directory or environments_directory()
    homes = sorted(root.iterdir()) if root.is_dir() else []
    return [_read(home) for home in homes if (home / CURRENT).is_dir()]


def remove(name: str, directory: Path | None = None) -> None:
    """Remove an environment. Raise ConfigError if there is none of this name."""
    home = (directory or environments_directory()) / name
    if not ENVIRONMENT_NAME.fullmatch(name) or not home.is_dir():
        raise ConfigError(f"There is no installed tap or target '{name}'; headrace singer ls shows all")
    try:
        shutil.rmtree(home)
    except OSError as error:
        raise ConnectError(f"{home} cannot be removed: {error.strerror or error}") from error


def _fill(made: Path, request: str, name: str, lock: Path | None) -> None:
    python, wanted = str(made / "bin" / "python"), [request]
    if lock is not None:
        if not lock.is_file():
            raise ConfigError(f"There is no file {lock}; the lock of an environment is its {LOCK}")
        wanted += ["--constraint", str(lock)]
    uv = shutil.which("uv")
    if uv is not None:
        _run([uv, "venv", "--allow-existing", "--python", sys.executable, str(made)], request)
        _run([uv, "pip", "install", "--python", python, *wanted], request)
        frozen = _run([uv, "pip", "freeze", "--python", python], request)
    else:
        _run([sys.executable, "-m", "venv", str(made)], request)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "install", "--quiet", *wanted], request)
        frozen = _run([*pip, "freeze"], request)
    (made / LOCK).write_text(frozen)
    (made / _REQUEST).write_text(request)
    if not _executables(made, name):
        raise ConfigError(f"{request} has no executable named {name}, tap-… or target-…: it is no tap or target")


def _run(command: Sequence[str], request: str) -> str:
    """Return what the command prints. Raise ConfigError, with the last line of its errors, if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{request} cannot be installed: it takes more than {_LONGEST} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").splitlines()
        errors = [line for line in said if line.lower().startswith("error")] or said
        raise ConfigError(f"{request} cannot be installed: {errors[-1][-_SAID:]}")
    return done.stdout


def _put_in_place(home: Path, made: Path) -> None:
    """Switch the link, which is atomic, and remove former environments."""
    link = home / f".{CURRENT}"
    link.unlink(missing_ok=True)
    link.symlink_to(made.name)
    link.replace(home / CURRENT)
    for other in home.glob("venv-*"):
        if other != made:
            shutil.rmtree(other, ignore_errors=True)


def _remove_if_unused(home: Path) -> None:
    if not (home / CURRENT).exists():
        (home / ".lock").unlink(missing_ok=True)
        with suppress(OSError):
            home.rmdir()


def _read(home: Path) -> SingerEnvironment:
    current = home / CURRENT
    texts = [path.read_text().strip() if path.is_file() else "" for path in (current / _REQUEST, current / LOCK)]
    return SingerEnvironment(home.name, texts[0], _executables(current, home.name), texts[1])


def _executables(environment: Path, name: str) -> tuple[str, ...]:
    programs = environment / "bin"
    names = {path.name for kind in _KINDS for path in programs.glob(f"{kind}-*")}
    return tuple(sorted(names | {each for each in (name,) if (programs / each).is_file()}))
