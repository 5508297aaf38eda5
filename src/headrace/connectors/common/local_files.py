# SPDX-License-Identifier: Apache-2.0
"""Files of this machine, or of file systems mounted on it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from headrace.api.errors import RetriableError

T = TypeVar("T")


class LocalFiles:
    """`headrace.connectors.common.batch_log.Files` on disk. Created and synced files survive a crash of the machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, directory: str) -> list[str]:
        def listed() -> list[str]:
            with suppress(FileNotFoundError):
                return os.listdir(self._root / directory)
            return []

        return self._run("listed", directory, listed)

    def tree(self, directory: str) -> list[str]:
        top = self._root / directory

        def fails(error: OSError) -> None:
            # Directories that were removed meanwhile are left out; any other error would make the walk incomplete.
            if not isinstance(error, FileNotFoundError) or error.filename == str(top):
                raise error

        def listed() -> list[str]:
            found = [Path(place) / name for place, _, names in os.walk(str(top), onerror=fails) for name in names]
            return [path.relative_to(top).as_posix() for path in found]

        return self._run("listed", directory, listed)

    def read(self, path: str) -> str:
        return self._run("read", path, (self._root / path).read_text)

    def create(self, path: str, text: str) -> bool:
        return self._run("made", path, lambda: _create(self._root / path, text))

    def move(self, source: str, target: str) -> bool:
        return self._run("moved", source, lambda: _move(self._root / source, self._root / target))

    def delete(self, path: str) -> None:
        self._run("deleted", path, lambda: _delete(self._root / path))

    def sync(self, paths: Sequence[str]) -> None:
        found = [self._root / path for path in paths]
        directories = sorted({directory for path in found for directory in self._above(path)})
        for each in (*found, *directories):
            self._run("made durable", str(each.relative_to(self._root)), lambda each=each: _sync(each))  # type: ignore[misc]

    def _above(self, path: Path) -> Iterator[Path]:
        """Yield the directories that lead to it, from the root on."""
        return (parent for parent in path.parents if parent.is_relative_to(self._root))

    def _run(self, what: str, path: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except OSError as error:
            raise RetriableError(f"{self._root / path} cannot be {what}: {error.strerror or error}") from error


def _create(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f"files-{uuid.uuid4().hex}.draft"
    try:
        draft.write_text(text)
        _sync(draft)
        # Unlike a rename, a link never replaces an existing file.
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)
    return True


def _move(source: Path, target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(source, target)
    except FileNotFoundError:
        return False
    return True


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sync(path: Path) -> None:
    """Sync a file. One that was moved on meanwhile is synced by the task that moved it."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
