# SPDX-License-Identifier: Apache-2.0
"""Commands in this process."""

from __future__ import annotations

import functools
import logging
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
import typer.testing


@pytest.fixture(autouse=True, scope="package")
def commands_made_once() -> Iterator[None]:
    """A runner makes all commands anew for each call, which takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts removes, and logs, what killed ones have left where it has its temporary files."""
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
