# SPDX-License-Identifier: Apache-2.0
"""The file ``plugins.lock``: installed Java plugins, where they are from, and the SHA-256 of each of their jars."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.java.scan import jars_in

LOCK_FILE: Final = "plugins.lock"
_FORMAT: Final = 1
_WITH: Final = "with"


@dataclass(frozen=True, slots=True)
class LockedPlugin:
    """A plugin of the file.

    ``source`` is a Maven coordinate, a path or a URL; ``jars`` are by relative path; ``more`` are the Maven coordinates
    of what is installed with it.
    """

    name: str
    source: str
    jars: Mapping[str, str]
    more: tuple[str, ...] = ()


def read_lock(directory: Path) -> dict[str, LockedPlugin]:
    """Return the plugins of a directory's lock file by name; none if there is no such file. ConfigError."""
    file = directory / LOCK_FILE
    try:
        content: Any = json.loads(file.read_bytes())
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']}, and not {_FORMAT}")
        plugins = content["plugins"].items()
        read = [
            LockedPlugin(_name(name), str(each["source"]), dict(each["jars"]), tuple(each.get(_WITH, ())))
            for name, each in plugins
        ]
        return {plugin.name: plugin for plugin in sorted(read, key=lambda plugin: plugin.name)}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def write_lock(directory: Path, plugins: Mapping[str, LockedPlugin]) -> None:
    """Write a directory's lock file, whole or not at all. OSError."""
    content = {
        name: {
            "source": plugin.source,
            **({_WITH: list(plugin.more)} if plugin.more else {}),
            "jars": dict(sorted(plugin.jars.items())),
        }
        for name, plugin in sorted(plugins.items())
    }
    unfinished = directory / f".{LOCK_FILE}"
    unfinished.write_text(json.dumps({"format": _FORMAT, "plugins": content}, indent=2) + "\n", encoding="utf-8")
    os.replace(unfinished, directory / LOCK_FILE)


def digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each jar in a directory, by relative path. OSError."""
    return {jar.relative_to(directory).as_posix(): _digest(jar) for jar in jars_in(directory)}


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _name(name: str) -> str:
    """Return the name of a plugin, which is that of a directory. ValueError for a path that leads elsewhere."""
    if not name or name.startswith(".") or "/" in name or "\\" in name:
        raise ValueError(f"'{name}' is no name of a plugin")
    return name
