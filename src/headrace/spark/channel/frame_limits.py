# SPDX-License-Identifier: Apache-2.0
"""Limits of a frame job's result: a query can make any number of rows of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config.engine_config import FRAME_RESULT_BYTES, FRAME_RESULT_ROWS


@dataclass(frozen=True, slots=True)
class ResultLimit:
    """The largest result of a job that is not streamed: ``max_bytes`` of Arrow data, and ``max_rows``.

    Rows are limited too, for each becomes a record, which takes a hundred times the memory of a small row. Streamed
    results are taken batch by batch, and have no limit. ``task`` names the jobs' task in messages.
    """

    max_bytes: int = 256 * 1024 * 1024
    max_rows: int = 1_000_000
    task: str = "a task"

    def excess(self, size: int, rows: int) -> str | None:
        """Return the message for a result of so many bytes and rows; None if it is within the limit."""
        if size > self.max_bytes:
            return self._message(FRAME_RESULT_BYTES, self.max_bytes)
        return self._message(FRAME_RESULT_ROWS, self.max_rows) if rows > self.max_rows else None

    def _message(self, property: str, value: int) -> str:
        return (
            f"the result of a frame job of {self.task} is larger than {property}={value}: have it make less of a "
            f"batch, give it smaller batches, or raise {property} of the worker, whose task needs the memory then"
        )
