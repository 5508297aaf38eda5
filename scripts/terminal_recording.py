# SPDX-License-Identifier: Apache-2.0
"""Runs commands on a terminal of their own and keeps what it shows, as asciicast v2 and as text."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

COLUMNS: Final = 100
ROWS: Final = 30
_PROMPT: Final = "\x1b[1;32m$\x1b[0m "
_KEY_S: Final = 0.04
"""Seconds that a typed character takes in the recording."""
_LONGEST_PAUSE_S: Final = 2.0
"""Longer pauses are recorded as this long."""
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


@dataclass(frozen=True, slots=True)
class Step:
    """A command line for the shell, and what its output has to contain; it has to end with ``code``."""

    command: str
    shows: str
    code: int = 0


class RecordingError(Exception):
    """A command did something else than its step says."""


@dataclass(slots=True)
class Recording:
    """What the terminal has shown: pairs of a time in seconds and text."""

    title: str
    events: list[tuple[float, str]] = field(default_factory=list)
    _now: float = 0.5

    def type(self, command: str) -> None:
        """Show a prompt, and a command as a user types it."""
        self.show(_PROMPT)
        for key in command:
            self._now += _KEY_S
            self.show(key)
        self._now += 0.3
        self.show("\r\n")

    def show(self, text: str, after: float = 0.0) -> None:
        self._now += min(after, _LONGEST_PAUSE_S)
        self.events.append((self._now, text))

    def asciicast(self) -> str:
        """Return the recording in the format of asciinema, version 2."""
        header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": self.title}
        lines = [json.dumps(header), *(json.dumps([round(at, 3), "o", text]) for at, text in self.events)]
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """Return what stands on the terminal at the end, without colours."""
        shown = _CONTROL.sub("", "".join(text for _, text in self.events)).replace("\r\n", "\n")
        return "\n".join(line.rsplit("\r", 1)[-1].rstrip() for line in shown.split("\n"))


def record(recording: Recording, steps: tuple[Step, ...], environment: Mapping[str, str], directory: Path) -> None:
    """Run the steps one after the other; raise RecordingError for the first that does not do what it says."""
    for step in steps:
        recording.type(step.command)
        first = len(recording.events)
        code = _run(step.command, recording, environment, directory)
        shown = _CONTROL.sub("", "".join(text for _, text in recording.events[first:]))
        recording.show("", after=1.5)
        if code != step.code or step.shows not in shown:
            raise RecordingError(
                f"{step.command}: exit code {code}, not {step.code}, or without {step.shows!r}:\n{shown}"
            )


def _run(command: str, recording: Recording, environment: Mapping[str, str], directory: Path) -> int:
    """Run a command on a terminal to its end; return its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave, env=dict(environment), cwd=directory
    )
    os.close(slave)
    at = time.monotonic()
    try:
        for text in _texts(master, process):
            now = time.monotonic()
            recording.show(text, after=now - at)
            at = now
    finally:
        os.close(master)
        process.kill()
    return process.wait()


def _texts(master: int, process: subprocess.Popen[bytes]) -> Iterator[str]:
    left = b""
    while True:
        if not select.select([master], [], [], 0.1)[0]:
            if process.poll() is not None:
                return
            continue
        try:
            left += os.read(master, 65536)
        except OSError:  # the terminal has no process any more
            process.wait()
            return
        whole = left.rfind(b"\n") + 1 or len(left)
        text, left = left[:whole].decode(errors="replace"), left[whole:]
        yield text
