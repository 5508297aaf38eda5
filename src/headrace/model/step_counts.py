# SPDX-License-Identifier: Apache-2.0
"""Counts of what the steps of a task's data path have done with its records, as its health shows them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StepKind(Enum):
    """The part of the data path that a step is."""

    SOURCE = "source"
    TRANSFORMATION = "transformation"
    CONVERTER = "converter"
    """The converters of keys, values and headers together."""
    TOPIC = "topic"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Counts of one step, from the start of the task's present attempt.

    Records count when the step is done with their batch. One that fails for good is in ``records_in`` only if it is
    skipped, as otherwise its batch is never done.
    """

    kind: StepKind
    alias: str | None
    """A transformation's."""
    records_in: int | None
    """None of the first step."""
    records_out: int | None
    """None of the last step."""
    filtered: int | None
    """Records that a transformation dropped; None of other steps, and of one on DataFrames."""
    errors: int
    """Records that failed for good and were skipped, and the failures that ended the attempt."""
    retries: int
