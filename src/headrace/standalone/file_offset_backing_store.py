# SPDX-License-Identifier: Apache-2.0
"""Source offsets in a file. Java: ``FileOffsetBackingStore``."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.config.standalone_config import OFFSETS_FILE
from headrace.model.futures import failed_future
from headrace.standalone import offsets_file
from headrace.storage.offset_backing_store import OffsetTable

log = logging.getLogger(__name__)

T = TypeVar("T")


class FileOffsetBackingStore:
    """Implements ``OffsetBackingStore`` over one file, which it alone uses from ``start`` to ``stop``.

    One thread reads and writes, in the order of the calls: a read sees every write submitted before it. A write has
    ended when it is on the disk; until then, and if it fails, readers get the former values.
    """

    def __init__(self, path: Path) -> None:
        # A link stays one: its target is replaced.
        self._path = Path(os.path.realpath(path))
        self._table = OffsetTable()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="offsets-file")
        self._lock: int | None = None
        self._failure: str | None = None

    def start(self) -> None:
        """Read the file, which need not exist. Raise ConfigError if that, or writing later, cannot be."""
        try:
            self._lock = self._locked()
            for key, value in offsets_file.parse(self._content()).items():
                self._table.apply(key, value)
        except OSError as error:
            self.stop()
            raise self._unusable(error.strerror or str(error)) from error
        except DataError as error:
            self.stop()
            raise self._unusable(str(error)) from error
        log.info("%d source offsets in %s", len(self._table.values), self._path)

    def stop(self) -> None:
        """Stop; blocks until all submitted writes are done."""
        self._worker.shutdown()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def waiting_for(self) -> str | None:
        """Return the reason for which reads wait, in words."""
        return f"the disk of {self._path}"

    def trouble(self) -> str | None:
        """Return the reason for which the newest offsets are not on the disk; None if they are."""
        return self._failure

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        """Return all offsets of a connector, by the JSON of the source partition."""
        return self._submit(lambda: self._table.offsets_of(connector))

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Return the newest values of ``keys``, None where there is none."""
        return self._submit(lambda: {key: self._table.values.get(key) for key in keys})

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        """Write records, all or none. The future raises RetriableError if the disk refuses."""
        return self._submit(lambda: self._write(dict(records)))

    def _write(self, records: Mapping[bytes, bytes | None]) -> None:
        merged: dict[bytes, bytes | None] = {key: value for key, value in self._table.values.items() if key is not None}
        merged.update(records)
        content = offsets_file.render({key: value for key, value in merged.items() if value is not None})
        try:
            offsets_file.replace_file(self._path, content)
        except OSError as error:
            self._failure = f"{OFFSETS_FILE}={self._path} cannot be written: {error.strerror or error}"
            raise RetriableError(self._failure) from error
        self._failure = None
        for key, value in records.items():
            self._table.apply(key, value)

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        try:
            return self._worker.submit(work)
        except RuntimeError:
            return failed_future(ConnectError(f"{OFFSETS_FILE}={self._path} is closed: the worker is stopping"))

    def _content(self) -> bytes:
        if not os.access(self._path.parent, os.W_OK):  # a write needs a second file beside this one
            raise PermissionError(errno.EACCES, f"directory {self._path.parent} is not writable")
        return self._path.read_bytes() if self._path.exists() else b""

    def _locked(self) -> int:
        """Lock the file: each of two workers with one file would lose the other's writes."""
        lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise DataError("another worker uses it; each needs a file of its own") from error
            raise
        return lock

    def _unusable(self, reason: str) -> ConfigError:
        return ConfigError.invalid(OFFSETS_FILE, self._path, reason)
