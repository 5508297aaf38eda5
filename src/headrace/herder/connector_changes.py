# SPDX-License-Identifier: Apache-2.0
"""The newest state of each connector with the number of its last change. Pure: no I/O, no clock, no threads.

A reader is a position: it gets the newest state of all that has changed since, and no state twice. So one that is slow
or away misses states in between, and costs no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_POSITION: Final = re.compile(r"([0-9a-f]{1,16}):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Changes:
    """The states after a position, in the order of their changes; None for a connector that is gone.

    ``whole``: they are all that there is, since what has happened after the position is not known. ``position`` is the
    one to continue after.
    """

    position: str
    states: Mapping[str, str | None]
    whole: bool = False


class ConnectorChanges:
    """A table of states, as texts. Used by one thread."""

    def __init__(self, instance: str, most_gone: int = 1000) -> None:
        """``instance``: hexadecimal digits, others for each process, since numbers begin anew.

        ``most_gone``: connectors that are gone and still known as such; a reader from before that gets all states.
        """
        self._instance = instance
        self._most_gone = most_gone
        self._number = 0
        self._first = 0
        """The lowest number of a position after which all changes are known."""
        self._states: dict[str, tuple[int, str | None]] = {}
        """By connector, with the number of the change; the newest last."""

    @property
    def position(self) -> str:
        """The position after the newest change."""
        return f"{self._instance}:{self._number}"

    def update(self, states: Mapping[str, str | None]) -> bool:
        """Take in states, None for a connector that there is not; return True if any of them is new."""
        changed = {name: state for name, state in states.items() if state != self._state(name)}
        if not changed:
            return False
        self._number += 1
        for name, state in changed.items():
            self._states.pop(name, None)
            self._states[name] = (self._number, state)
        self._forget()
        return True

    def after(self, position: str) -> Changes:
        """Return what has changed after a position; all states if it is none of this process, or too old."""
        number = self._known_number(position)
        if number is None:
            states = {name: state for name, (_, state) in self._states.items() if state is not None}
            return Changes(self.position, states, whole=True)
        return Changes(self.position, dict(reversed(list(self._newer(number)))))

    def _state(self, name: str) -> str | None:
        return self._states.get(name, (0, None))[1]

    def _known_number(self, position: str) -> int | None:
        found = _POSITION.fullmatch(position)
        if found is None or found[1] != self._instance:
            return None
        number = int(found[2])
        return number if self._first <= number <= self._number else None

    def _newer(self, number: int) -> Iterator[tuple[str, str | None]]:
        """Yield what has changed after a number, the newest first."""
        for name in reversed(self._states):
            changed, state = self._states[name]
            if changed <= number:
                return
            yield name, state

    def _forget(self) -> None:
        """Forget the connectors that went first, beyond the most that are kept."""
        gone = [(name, number) for name, (number, state) in self._states.items() if state is None]
        for name, number in gone[: max(0, len(gone) - self._most_gone)]:
            del self._states[name]
            self._first = number
