# SPDX-License-Identifier: Apache-2.0
"""Errors as the worker gets them: class, text, stage, position and remedy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from headrace.api.error_text import clean_text, error_name, error_text
from headrace.model.health import Handling, Stage, TaskError
from headrace.task.errors import processing_context
from headrace.task.errors.error_hints import hint_for
from headrace.task.errors.processing_context import ConsumedRecord, Original, ProcessingContext

E = TypeVar("E", bound=BaseException)
_LONGEST: Final = 2_000
"""Characters of a text; the trace, in the status and the log, has all of it."""
_CONTEXT: Final = "_headrace_context"
_Java: Final = processing_context.Stage
STAGES: Final = {
    _Java.TASK_POLL: Stage.POLLING,
    _Java.TASK_PUT: Stage.PUTTING,
    _Java.TRANSFORMATION: Stage.CONVERTING,
    _Java.KEY_CONVERTER: Stage.CONVERTING,
    _Java.VALUE_CONVERTER: Stage.CONVERTING,
    _Java.HEADER_CONVERTER: Stage.CONVERTING,
    _Java.KAFKA_PRODUCE: Stage.PRODUCING,
    _Java.KAFKA_CONSUME: Stage.READING,
}
"""The stage of the task for each of an operation."""
_CONVERTERS: Final = {
    _Java.KEY_CONVERTER: "key.converter",
    _Java.VALUE_CONVERTER: "value.converter",
    _Java.HEADER_CONVERTER: "header.converter",
}


def task_error(
    error: BaseException,
    stage: Stage,
    handling: Handling,
    *,
    position: Mapping[str, Any] | None = None,
    converter: str | None = None,
    delay: float | None = None,
) -> TaskError:
    """Return ``error``, met now, as the worker gets it. ``delay`` is the time in seconds until the next attempt.

    ``converter`` is the property of the converter that failed, if one did.
    """
    now, message = time.time_ns() // 1_000_000, clean_text(error_text(error), _LONGEST) or "no reason was given"
    return TaskError(
        error_class=error_name(error),
        message=message,
        stage=stage,
        handling=handling,
        time_ms=now,
        position=position,
        hint=hint_for(f"{error_name(error)}: {message}", converter),
        next_attempt_ms=None if delay is None else now + round(delay * 1000),
    )


def record_error(context: ProcessingContext[Any]) -> TaskError:
    """Return the final failure of a record: TOLERATED, or FAILED if it ends the attempt."""
    stage = context.operation.stage
    return task_error(
        context.error,
        STAGES[stage],
        Handling.TOLERATED if context.tolerated else Handling.FAILED,
        position=position_of(context.original),
        converter=_CONVERTERS.get(stage),
    )


def position_of(original: Original) -> Mapping[str, Any]:
    """Return the position of a record, as ``TaskError`` has it."""
    if isinstance(original, ConsumedRecord):
        return {"topic": original.topic, "partition": original.partition, "offset": original.offset}
    return {
        "source_partition": _plain(original.source_partition),
        "source_offset": _plain(original.source_offset),
    }


def with_context(error: E, context: ProcessingContext[Any]) -> E:
    """Return ``error``, which ends the attempt, with the record's failure noted on it."""
    with suppress(Exception):
        setattr(error, _CONTEXT, context)
    return error


def final_error(error: BaseException, handling: Handling, stage: Stage) -> TaskError:
    """Return the error that has ended an attempt in ``stage``; that of a record if one is noted on it or on a cause."""
    for each in _causes(error):
        if (context := _noted_context(each)) is not None:
            return record_error(context)
    return task_error(error, stage, handling)


def _causes(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    for _ in range(16):
        if each is None:
            return
        yield each
        each = _cause(each)


def _plain(position: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a source's map with short texts in place of what only its plugin knows: the worker cannot load that."""
    if position is None:
        return None
    plain = (bool, int, float, type(None))
    return {_short(name): value if type(value) in plain else _short(value) for name, value in position.items()}


def _short(value: object) -> str:
    return clean_text(error_text(value), _LONGEST)


# Errors of plugins may refuse attributes, or fail when these are read.


def _cause(error: BaseException) -> BaseException | None:
    with suppress(Exception):
        return error.__cause__
    return None


def _noted_context(error: BaseException) -> ProcessingContext[Any] | None:
    with suppress(Exception):
        return cast("ProcessingContext[Any] | None", vars(error).get(_CONTEXT))
    return None
