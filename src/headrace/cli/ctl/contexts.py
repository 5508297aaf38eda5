# SPDX-License-Identifier: Apache-2.0
"""The user's file of contexts: clusters by name, with address, login and TLS. Secrets are references by default."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, near_name, read_text

SECRETS: Final = ("password", "token")
"""Each may also be given by reference, with the suffix ``_env`` or ``_file``."""
_TLS_FILES: Final = ("ca", "certificate", "key")
FILES: Final = (*(f"{secret}_file" for secret in SECRETS), *_TLS_FILES)
STRINGS: Final = (
    "url",
    "username",
    *(f"{secret}{suffix}" for secret in SECRETS for suffix in ("", "_env", "_file")),
    *_TLS_FILES,
)
VERIFY: Final = "verify"
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")

Settings = Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts, and the name of the current one."""

    current: str | None = None
    by_name: Mapping[str, Settings] = field(default_factory=dict)

    def get(self, name: str) -> Settings:
        """Return the settings of a context. Raise CtlError if there is none of the name."""
        if name not in self.by_name:
            known = ", ".join(sorted(self.by_name)) or "there are none"
            remedy = near_name(name, self.by_name) or f"Add it with: headrace context set {name} --url URL"
            raise CtlError(f"There is no context '{name}'. Contexts: {known}", ExitCode.NOT_FOUND, remedy)
        return self.by_name[name]

    def with_settings(self, name: str, settings: Settings) -> Contexts:
        """Return all contexts with one that is new or has other settings; the first one becomes the current one."""
        return Contexts(self.current or name, {**self.by_name, name: settings})

    def without(self, name: str) -> Contexts:
        """Return all contexts but one. Raise CtlError if there is none of the name."""
        self.get(name)
        others = {other: settings for other, settings in self.by_name.items() if other != name}
        return Contexts(None if self.current == name else self.current, others)

    def using(self, name: str) -> Contexts:
        """Return the same contexts with another current one. Raise CtlError if there is none of the name."""
        self.get(name)
        return replace(self, current=name)


def contexts_file() -> Path:
    """Return the path of the file: ``headrace/config.toml`` in the user's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("headrace") / "config.toml"


def load_contexts() -> Contexts:
    """Read the file; without it there are no contexts. Raise ArgumentError for one that is not valid."""
    path = contexts_file()
    try:
        found = tomllib.loads(read_text(path))
    except ArgumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Contexts()
        raise
    except ValueError as error:
        raise ArgumentError(f"{path} is not valid TOML: {error}") from error
    return _parsed(path, found)


def save_contexts(contexts: Contexts) -> Path:
    """Write the file, readable by its owner alone, in one step. Comments are not kept. Return its path."""
    path = contexts_file()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(_toml(contexts))
        temporary.replace(path)
    except OSError as error:
        raise CtlError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def _parsed(path: Path, found: Mapping[str, Any]) -> Contexts:
    contexts, current = found.get("contexts", {}), found.get("current")
    unknown = sorted(found.keys() - {"contexts", "current"})
    if unknown or not isinstance(contexts, dict) or not isinstance(current, str | None):
        raise ArgumentError(f"{path}: expected are current and the tables [contexts.NAME]", remedy=_unknown(unknown))
    for name, settings in contexts.items():
        if not isinstance(settings, dict):
            raise ArgumentError(f"{path}: contexts.{name} is not a table")
        for key, value in settings.items():
            if not isinstance(value, bool if key == VERIFY else str) or key not in (*STRINGS, VERIFY):
                known = ", ".join((*STRINGS, VERIFY))
                raise ArgumentError(f"{path}: invalid setting {key} in [contexts.{name}]", remedy=f"Settings: {known}")
    return Contexts(current, contexts)


def _unknown(keys: list[str]) -> str | None:
    return f"Not known: {', '.join(keys)}" if keys else None


def _toml(contexts: Contexts) -> str:
    lines = ["# Contexts of the command headrace: docs/guide/command-line.md"]
    if contexts.current is not None:
        lines.append(f"current = {_string(contexts.current)}")
    for name, settings in sorted(contexts.by_name.items()):
        lines += ["", f"[contexts.{name if _BARE.fullmatch(name) else _string(name)}]"]
        lines += [f"{key} = {_string(value)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"


def _string(value: str | bool) -> str:
    """Return a value of TOML, whose strings have JSON's escapes, and DEL escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
