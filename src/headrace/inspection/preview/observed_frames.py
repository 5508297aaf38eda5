# SPDX-License-Identifier: Apache-2.0
"""A step on frames in a preview: applied by Spark to a batch, and shown for each of its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

from headrace.api.errors import ConnectError, DataError, RetriableError
from headrace.config.connector_config import ConnectorConfig
from headrace.inspection.preview.observed_steps import Json, step_json
from headrace.inspection.preview.previewed_frames import StepFrames
from headrace.inspection.preview.previewed_record import Failures, PreviewedRecord, ending, step_failure_json
from headrace.inspection.preview.previewed_task import record_json
from headrace.task.errors.processing_context import O, Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_step import FrameStep

NOT_PREVIEWED: Final = "not previewed"
"""The outcome of a step that Spark could not be had for, and of the records that reach it."""
COMBINED: Final = "combined"
"""The outcome of a record of which, with others, a query has made rows that are shown with the last one of them."""
_COMBINED: Final = "combined with the following records: the rows of all of them are shown with the last one"
Results = Callable[[Sequence[PreviewedRecord[Any]]], list[list[Any] | None]]
"""Returns the rows that a step makes of records, for each record; None for one whose rows are shown with another.

Raises the errors of ``FrameStep.apply``.
"""


class ObservedFrameStep(Generic[O]):
    """Notes the results of a step on frames. One thread."""

    def __init__(
        self,
        operation: Operation,
        results: Results,
        close: Callable[[], None],
        config: ConnectorConfig,
        errors: RetryWithTolerance[O],
        failures: Failures[O],
    ) -> None:
        self._operation = operation
        self._results = results
        self.close = close
        self._config = config
        self._errors = errors
        self._failures = failures

    def apply(self, records: Sequence[PreviewedRecord[O]]) -> None:
        """Apply the step to records that are passed on; those that fail by their data are found one by one."""
        if not records:
            return
        try:
            results = self._results(records)
        except RetriableError as error:
            for record in records:
                self._not_previewed(record, error)
        except DataError as error:
            if len(records) == 1:
                self._failed(records[0], error)
                return
            middle = len(records) // 2
            self.apply(records[:middle])
            self.apply(records[middle:])
        except ConnectError as error:
            for record in records:
                record.steps.append(step_json(self._operation, "failed"))
                record.end("fails the task", step_failure_json(error, self._operation))
        else:
            for record, rows in zip(records, results, strict=True):
                if rows is None:
                    record.steps.append(step_json(self._operation, COMBINED, message=_COMBINED))
                    record.end(COMBINED)
                    continue
                record.steps.append(step_json(self._operation, **_change(record.rows, rows)))
                record.rows = rows

    def _not_previewed(self, record: PreviewedRecord[O], error: RetriableError) -> None:
        message = f"not previewed, nor is what follows it: {error.__cause__ or error}"
        record.steps.append(step_json(self._operation, NOT_PREVIEWED, message=message))
        record.end(NOT_PREVIEWED)

    def _failed(self, record: PreviewedRecord[O], error: DataError) -> None:
        def fail() -> None:
            raise error

        record.steps.append(step_json(self._operation, "failed"))
        with ending(record, self._failures, self._config, self._operation.stage.value):
            self._errors.execute(self._operation, record.original, fail)


def _change(before: Sequence[Any], after: Sequence[Any]) -> Json:
    """Return the outcome of a step that made the records ``after`` of those ``before``."""
    if not after:
        return {"outcome": "dropped"}
    shown = [record_json(record) for record in after]
    if shown == [record_json(record) for record in before]:
        return {"outcome": "unchanged"}
    return {"outcome": "changed", **({"after": shown[0]} if len(shown) == 1 else {"rows": shown})}


def source_results(step: FrameStep[Any], frames: StepFrames) -> Results:
    """Return the results of a source's step: each row of a record is a batch of its own, so ``frames`` shows which."""

    def results(records: Sequence[PreviewedRecord[Any]]) -> list[list[Any] | None]:
        from headrace.api.arrow_records import table_to_records

        owners = [number for number, record in enumerate(records) for _ in record.rows]
        frames.reset()
        batches = step.apply([row for record in records for row in record.rows])
        made = [row for each in batches for row in (each if isinstance(each, Sequence) else table_to_records(each))]
        found: list[list[Any]] = [[] for _ in records]
        for origin, row in zip(frames.origins, made, strict=True):
            found[owners[origin]].append(row)
        combined = {owners[number] for batch in frames.combined for number in batch}
        combined -= {owners[batch[-1]] for batch in frames.combined}
        return [None if number in combined else rows for number, rows in enumerate(found)]

    return results


def sink_results(step: FrameStep[Any]) -> Results:
    """Return the results of a sink's step: each row names the record that it was made of."""

    def results(records: Sequence[PreviewedRecord[Any]]) -> list[list[Any] | None]:
        numbers = {_place(row): number for number, record in enumerate(records) for row in record.rows}
        found: list[list[Any]] = [[] for _ in records]
        for batch in step.apply([row for record in records for row in record.rows]):
            for row in batch:
                found[numbers[_place(row)]].append(row)
        return list(found)

    return results


def _place(record: Any) -> tuple[str, int, int]:
    return record.original_topic, record.original_kafka_partition, record.original_kafka_offset
