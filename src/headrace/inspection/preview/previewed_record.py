# SPDX-License-Identifier: Apache-2.0
"""A record on its way through a previewed chain, and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from headrace.task.errors.processing_context import O

Json = dict[str, Any]


@dataclass(slots=True)
class PreviewedRecord(Generic[O]):
    """A record that came to the task as ``original``; ``rows`` are the records that it has become so far.

    ``shown`` is its JSON so far. ``outcome`` is None as long as it may go on.
    """

    original: O
    shown: Json
    rows: list[Any]
    steps: list[Json] = field(default_factory=list)
    outcome: str | None = None

    @property
    def goes_on(self) -> bool:
        """True if there is something for the next step."""
        return self.outcome is None and bool(self.rows)

    def end(self, outcome: str, error: Json | None = None) -> None:
        """Note that nothing becomes of it, and why."""
        self.outcome, self.rows = outcome, []
        if error is not None:
            self.shown["error"] = error

    def json(self, outcome: str, results: Sequence[Json]) -> Json:
        """Return what is shown; ``outcome`` is for a record that has come to its end with ``results``."""
        ended = self.outcome or (outcome if results else "dropped")
        shown = {**self.shown, "steps": self.steps, "outcome": ended, "result": results[0] if results else None}
        return {**shown, "results": list(results)} if len(results) > 1 else shown
