# SPDX-License-Identifier: Apache-2.0
"""The files of the pages, read once, with a digest of them all by which browsers may keep them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

_MEDIA_TYPES: Final[Mapping[str, str]] = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class StaticFile:
    """``tag``: an entity tag (RFC 9110), in quotes."""

    content: bytes
    media_type: str
    tag: str


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """Files by their paths below ``static``; another content of any of them makes another ``digest``."""

    files: Mapping[str, StaticFile]
    digest: str

    @classmethod
    def of(cls, contents: Mapping[str, bytes]) -> StaticFiles:
        """Return them for these contents by path."""
        whole = hashlib.sha256()
        for path, content in sorted(contents.items()):
            whole.update(f"{path} {len(content)}\n".encode() + content)
        found = {path: _file(path, content) for path, content in contents.items()}
        return cls(found, whole.hexdigest()[:_DIGITS])

    def page(self, name: str, modules: str) -> StaticFile:
        """Return a page with the places of its files put in; browsers load all ``modules`` at once, not one by one.

        ``modules``: prefixes of the paths of the modules that the page runs, separated by spaces.
        """
        place = f"console/static/{self.digest}"
        wanted = tuple(modules.split())
        paths = sorted(path for path in self.files if path.endswith(".js") and path.startswith(wanted))
        preloads = "\n".join(f'<link rel="modulepreload" href="{place}/{path}">' for path in paths)
        text = self.files[name].content.decode().replace("{{static}}", place).replace("{{modules}}", preloads)
        return _file(name, text.encode())


@cache
def static_files() -> StaticFiles:
    """Return the files of this version of headrace."""
    return StaticFiles.of(dict(_contents(files(__package__) / "static", "")))


def _contents(directory: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in directory.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _contents(entry, f"{path}/")
        elif path.rpartition(".")[2] in _MEDIA_TYPES:
            found.append((path, entry.read_bytes()))
    return found


def _file(path: str, content: bytes) -> StaticFile:
    tag = f'"{hashlib.sha256(content).hexdigest()[:_DIGITS]}"'
    return StaticFile(content, _MEDIA_TYPES[path.rpartition(".")[2]], tag)
