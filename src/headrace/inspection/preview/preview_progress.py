# SPDX-License-Identifier: Apache-2.0
"""The items of a preview: stages, records, notes, and the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.inspection.job_process import Emit
from headrace.inspection.preview.hidden_values import HiddenValues
from headrace.inspection.preview.previewed_record import error_json

Json = dict[str, Any]


class FailedError(Exception):
    """A call of the plugin's failed; the end is emitted."""


class Progress:
    """Emits items, and remembers the stage. One thread."""

    def __init__(self, emit: Emit, hidden: HiddenValues) -> None:
        self._emit = emit
        self._hidden = hidden
        self.stage = ""
        self._ended = False

    def emit(self, kind: str, content: Any) -> None:
        """Emit an item, without secrets."""
        self._emit({kind: self._hidden.hide(content)})

    def enter(self, stage: str) -> None:
        """Emit a stage, unless it is the present one."""
        if stage != self.stage:
            self.stage = stage
            self._emit({"stage": stage})

    @contextmanager
    def calling(self, stage: str) -> Iterator[None]:
        """Note a call of the plugin's; its error becomes the preview's end, and FailedError."""
        self.enter(stage)
        try:
            yield
        except Exception as error:
            self.end("error", error_json(error, stage))
            raise FailedError from error

    def end(self, reason: str, error: Json | None = None) -> None:
        """Emit the end, once: what fails while all is stopped is a note."""
        if not self._ended:
            self._ended = True
            self.emit("end", {"reason": reason, "error": error})
        elif error is not None:
            self.emit("note", f"{error['stage']} failed: {error['error']}: {error['message']}")
