# SPDX-License-Identifier: Apache-2.0
"""Commands in this process."""

from __future__ import annotations

import logging
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts removes, and tells of, what killed ones have left where it has its temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, ours = root.handlers[:], root.level, logging.getLogger("headrace").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("headrace").setLevel(ours)


@pytest.fixture(autouse=True)
def untouched_signals() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
