# SPDX-License-Identifier: Apache-2.0
"""Starts taps and targets with their files, and reports their standard error and their end."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.api.errors import RetriableError
from headrace.connectors.singer.child import Child, Wake
from headrace.connectors.singer.error_lines import Measurement, level_of, measurement

log = logging.getLogger(__name__)

_QUOTED_LINES: Final = 5
_QUOTED: Final = 1_000
_LINES_A_SECOND: Final = 50


def start_child(
    command: Sequence[str],
    files: Mapping[str, str],
    options: Mapping[str, str],
    more: Sequence[str],
    wake: Wake,
    longest_line: int,
) -> Child:
    """Start the command with each of the files, named ``<name>.json``, behind its option."""
    try:
        directory = Path(tempfile.mkdtemp(prefix="headrace-singer-"))
        arguments = list(command)
        for name, text in files.items():
            file = directory / f"{name}.json"
            file.touch(0o600)
            file.write_text(text, encoding="utf-8")
            arguments += [options[name], str(file)]
    except OSError as error:
        raise RetriableError(f"files for {command[0]} cannot be written: {error}") from error
    try:
        return Child([*arguments, *more], directory, wake, longest_line)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(directory)
        raise


def ending(child: Child) -> str:
    """Return how the child has ended, with the last lines of its standard error."""
    said = " | ".join(list(child.last_errors)[-_QUOTED_LINES:])[-_QUOTED:]
    return f"ended with code {child.code}; " + (f"it said: {said}" if said else "it said nothing on standard error")


class ErrorLog:
    """Logs what a child says on its standard error, by its levels; of a flood, the first lines of each second.

    METRIC lines go to ``measured``, and to the log for debugging only.
    """

    def __init__(
        self,
        name: str,
        measured: Callable[[Measurement], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._measured, self._clock = name, measured, clock
        self._level = logging.INFO
        self._second, self._logged, self._left_out = 0, 0, 0

    def log(self, child: Child) -> None:
        """Log its lines, and take them."""
        while child.error_lines:
            line, second = child.error_lines.popleft(), int(self._clock())
            if self._takes(line):
                log.debug("%s: %s", self._name, line)
                continue
            self._level = level_of(line, self._level)
            if second != self._second:
                self._log_left_out()
                self._second, self._logged = second, 0
            if self._logged < _LINES_A_SECOND:
                self._logged += 1
                log.log(self._level, "%s: %s", self._name, line)
            else:
                self._left_out += 1
        if child.code is not None:
            self._log_left_out()

    def _takes(self, line: str) -> bool:
        point = None if self._measured is None else measurement(line)
        if self._measured is not None and point is not None:
            self._measured(point)
        return point is not None

    def _log_left_out(self) -> None:
        if self._left_out:
            log.warning("%s: %d more lines of its standard error are not logged", self._name, self._left_out)
            self._left_out = 0
