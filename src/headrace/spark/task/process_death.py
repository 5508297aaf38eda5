# SPDX-License-Identifier: Apache-2.0
"""The end of a process that was lost, as far as it is known, in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.model.process_end import ExitCalled

_AS_AFTER: Final = "as after System.exit or Runtime.halt in Java, or exit in a native library"


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a process that has reported no outcome.

    ``status`` is that of C's ``exit``, None if it was not called or is not known; ``status_known``: one would be known.
    """

    exit_called: ExitCalled | None = None
    status: int | None = None
    status_known: bool = False

    @property
    def by_plugin(self) -> bool:
        """True if a method of a plugin has ended it on purpose, so that the next process would end in the same way."""
        return self.exit_called is not None and self.exit_called.caller is not None

    def text(self, in_java: bool) -> str:
        """Return what follows "the process was lost", empty if nothing is known; ``in_java``: its task is in Java."""
        if self.exit_called is not None:
            status = "" if self.status is None else f"({self.status})"
            return f", as {self.exit_called.caller or 'Java code'} called System.exit{status}"
        if self.status is not None:
            return f": it ended by itself with status {self.status}, {_AS_AFTER}"
        if not in_java:
            return ""
        killed = ": it was killed, by a lack of memory for instance,"
        return f"{killed} or has crashed" if self.status_known else f"{killed} has crashed, or called Runtime.halt"
