# SPDX-License-Identifier: Apache-2.0
"""A connector's ``transforms``, compiled once and applied to batches of records. Java: ``TransformationChain``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, takewhile
from typing import Any, Generic, Protocol, TypeVar

from headrace.api.data_column import has_nulls, lacks_values
from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError
from headrace.api.record import ConnectRecord
from headrace.api.transform import PartTransformation, Predicate, RecordPart, Transformation
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.java.plugin import java_class_of
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.task_metrics import Monitor, no_monitor

R = TypeVar("R", bound=ConnectRecord)


@dataclass(frozen=True, slots=True)
class TransformationStage:
    """One transformation under its alias, with the predicate for the records that it applies to."""

    operation: Operation
    transformation: Transformation[Any]
    predicate: Predicate[Any] | None = None
    negate: bool = False

    def apply(self, record: R) -> R | None:
        if self.predicate is not None and bool(self.predicate.test(record)) == self.negate:
            return record
        result: R | None = self.transformation.apply(record)
        return result

    @property
    def columnwise(self) -> bool:
        """True if `apply` takes a record that stands for a batch."""
        predicate = self.predicate
        return _is_columnwise(self.transformation, "apply", "apply_to") and (
            predicate is None or _is_columnwise(predicate, "test")
        )

    def close(self) -> None:
        self.transformation.close()
        if self.predicate is not None:
            self.predicate.close()


def _is_columnwise(plugin: Transformation[Any] | Predicate[Any], *methods: str) -> bool:
    """Return True if the class that overrides the last of these methods, or one derived from it, is columnwise."""
    for cls in type(plugin).__mro__:
        if "columnwise" in vars(cls):
            return bool(vars(cls)["columnwise"])
        if any(method in vars(cls) for method in methods):
            return False
    return False


class _StageFailedError(Exception):
    """The ``index``th stage raised ``error`` for ``record``, in the form that the stages before returned."""

    def __init__(self, index: int, record: Any, error: Exception) -> None:
        super().__init__(index)
        self.index = index
        self.record = record
        self.error = error


@dataclass(slots=True)
class StageCounts:
    """Of each stage, the records of the present batch that it dropped, and those that were skipped."""

    dropped: list[int]
    skipped: list[int]


class StageRun(Protocol):
    """Stages that follow one another, from ``first`` on and before ``end``, which take a batch in one call."""

    first: int
    end: int

    def apply(self, records: Sequence[Any], originals: Sequence[Any], counts: StageCounts) -> Sequence[Any] | None:
        """Return what ``apply_all`` does; None, and nothing is done, if the stages need single records."""


class TransformationChain(Generic[O, R]):
    """Applies transformations to batches of records. Task's thread only.

    Records that pass cost no more than the calls of their transformations: neighbours that change the same part of a
    record are fused, and only an exception makes the record that raised it special.
    """

    def __init__(
        self,
        stages: Sequence[TransformationStage],
        errors: RetryWithTolerance[O],
        runs: Sequence[StageRun] = (),
    ) -> None:
        """``runs`` are those of the stages that take batches, in order."""
        self.stages = tuple(stages)
        self._errors = errors
        self._runs = tuple(runs)
        self._steps = [errors.step(stage.operation) for stage in self.stages]
        self._counts = StageCounts([0] * len(self.stages), [0] * len(self.stages))
        self._between = cache(partial(_compile, self.stages, self._counts.dropped))
        """The function that applies the stages from a number on and before another, compiled once."""
        self._columnwise = sum(1 for _ in takewhile(lambda stage: stage.columnwise, self.stages))
        """Number of stages at the beginning that take a record that stands for a batch."""

    def __bool__(self) -> bool:
        return bool(self.stages)

    @property
    def uses_java(self) -> bool:
        """True if a transformation is one in Java."""
        return any(java_class_of(type(stage.transformation)) is not None for stage in self.stages)

    def apply_columnwise(self, record: R, rows: int) -> tuple[R | None, int]:
        """Apply as many stages as can be to a record that stands for a batch of ``rows``; return also their number.

        The rest is for ``apply_all``. None if a stage drops the batch. A stage that raises an exception is left to
        ``apply_all``, and so are one behind which a field is null for some records that may not be, and all that would
        get data that is null for some.
        """
        for index, stage in enumerate(self.stages[: self._columnwise]):
            if has_nulls(record.value) or (record.key_schema is not None and has_nulls(record.key)):
                return record, index
            try:
                result = stage.apply(record)
            except Exception:
                return record, index
            if result is None:
                self._steps[index].passed(rows, 0, filtered=rows)
                return None, len(self.stages)
            if lacks_values(result.key) or lacks_values(result.value):
                return record, index
            self._steps[index].passed(rows, rows)
            record = result
        return record, self._columnwise

    def apply_all(self, records: Sequence[R], originals: Sequence[O], first: int = 0) -> Sequence[R | None]:
        """Return each record as the stages transform it; None if one drops it, or if it is skipped (and reported).

        ``originals`` are the records as they came to the task. The stages before ``first`` are left out.
        ToleranceExceededError for a record that fails.
        """
        counts = self._counts
        counts.dropped[:] = counts.skipped[:] = [0] * len(self.stages)
        result: Sequence[R | None] = records
        for number, part in enumerate(self._parts(first)):
            result = part(records, originals) if number == 0 else _applied_to_rest(part, result, originals)
        self._count(len(records), first)
        return result

    def _parts(self, first: int) -> Iterator[_Part]:
        """Yield the runs from a stage on, and what is between them."""
        for run in self._runs:
            if run.first >= first:
                if run.first > first:
                    yield partial(self._apply_stages, first, run.first)
                yield partial(self._apply_run, run)
                first = run.end
        if first < len(self.stages):
            yield partial(self._apply_stages, first, len(self.stages))

    def _apply_run(self, run: StageRun, records: Sequence[R], originals: Sequence[O]) -> Sequence[R | None]:
        result = run.apply(records, originals, self._counts) if records else records
        return self._apply_stages(run.first, run.end, records, originals) if result is None else result

    def _apply_stages(self, first: int, end: int, records: Sequence[R], originals: Sequence[O]) -> Sequence[R | None]:
        """Apply some stages record by record."""
        apply = self._between(first, end)
        result: list[R | None] = []
        for record in records:
            try:
                result.append(apply(record))
            except _StageFailedError as failed:
                result.append(self._recovered(failed, originals[len(result)], end))
        return result

    def close(self) -> None:
        for stage in self.stages:
            stage.close()

    def _recovered(self, failed: _StageFailedError, original: O, end: int) -> R | None:
        """Retry the stage that failed, then apply those before ``end``, so that no stage sees the record twice."""
        index, stage = failed.index, self.stages[failed.index]
        result: Any = self._errors.recover(stage.operation, original, failed.error, partial(stage.apply, failed.record))
        while result is not None and result is not SKIPPED and index + 1 < end:
            index, stage = index + 1, self.stages[index + 1]
            result = self._errors.execute(stage.operation, original, partial(stage.apply, result))
        if result is None:
            self._counts.dropped[index] += 1
        elif result is SKIPPED:
            self._counts.skipped[index] += 1
        return None if result is SKIPPED else result

    def _count(self, records: int, first: int) -> None:
        """Count a batch: each stage had the records that the one before it has returned."""
        for index, step in enumerate(self._steps[first:], first):
            results = records - self._counts.dropped[index] - self._counts.skipped[index]
            step.passed(records, results, self._counts.dropped[index])
            records = results


_Part = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
_Step = Callable[[Any], Any]


def _applied_to_rest(part: _Part, records: Sequence[Any], originals: Sequence[Any]) -> Sequence[Any]:
    """Apply a part of a chain to the records that are not None."""
    rows = [row for row, record in enumerate(records) if record is not None]
    if len(rows) == len(records):
        return part(records, originals)
    result = [None] * len(records)
    rest = part([records[row] for row in rows], [originals[row] for row in rows])
    for row, record in zip(rows, rest, strict=True):
        result[row] = record
    return result


def _compile(stages: Sequence[TransformationStage], dropped: list[int], first: int, end: int) -> _Step:
    """Return a function that applies stages, from ``first`` on and before ``end``.

    It counts, by stage, the records ``dropped``.
    """
    steps = []
    for part, group in groupby(list(enumerate(stages))[first:end], key=lambda numbered: _fusible_part(numbered[1])):
        run = list(group)
        if part is None:
            steps += [_single(index, stage, dropped) for index, stage in run]
        else:
            steps.append(_fused(part, run[0][0], [stage.transformation for _, stage in run]))
    return steps[0] if len(steps) == 1 else _in_turn(tuple(steps))


def _fusible_part(stage: TransformationStage) -> RecordPart | None:
    transformation = stage.transformation
    if stage.predicate is not None or not isinstance(transformation, PartTransformation):
        return None
    # One that has an `apply` of its own may do more than its `apply_to`.
    return transformation.part if type(transformation).apply is PartTransformation.apply else None


def _in_turn(steps: tuple[_Step, ...]) -> _Step:
    def apply(record: Any) -> Any:
        for step in steps:
            record = step(record)
            if record is None:
                return None
        return record

    return apply


def _single(index: int, stage: TransformationStage, dropped: list[int]) -> _Step:
    call = stage.transformation.apply if stage.predicate is None else stage.apply

    def apply(record: Any) -> Any:
        try:
            result = call(record)
        except Exception as error:
            raise _StageFailedError(index, record, error) from error
        if result is None:
            dropped[index] += 1
        return result

    return apply


def _fused(part: RecordPart, first: int, transformations: Sequence[Any]) -> _Step:
    """Create one record from the results of all, in place of one for each."""
    functions = tuple(transformation.apply_to for transformation in transformations)
    if any(functions.index(function) != place for place, function in enumerate(functions)):
        # The stage that failed is found by its function, so stages may not share one.
        functions = tuple(map(partial, functions))

    def failed(apply_to: Any, record: Any, error: Exception) -> _StageFailedError:
        return _StageFailedError(first + functions.index(apply_to), record, error)

    def apply_to_value(record: Any) -> Any:
        schema, value = record.value_schema, record.value
        for apply_to in functions:
            try:
                schema, value = apply_to(record, schema, value)
            except Exception as error:
                raise failed(apply_to, record.with_value(schema, value), error) from error
        return record.with_value(schema, value)

    def apply_to_key(record: Any) -> Any:
        schema, key = record.key_schema, record.key
        for apply_to in functions:
            try:
                schema, key = apply_to(record, schema, key)
            except Exception as error:
                raise failed(apply_to, record.with_key(schema, key), error) from error
        return record.with_key(schema, key)

    return apply_to_value if part is RecordPart.VALUE else apply_to_key


def create_transformation_chain(
    config: ConnectorConfig, plugins: Plugins, errors: RetryWithTolerance[O], monitor: Monitor = no_monitor
) -> TransformationChain[O, Any]:
    """Return the chain that a connector's ``transforms`` and ``predicates`` describe."""
    used = {stage.predicate for stage in config.transforms}
    for unused in (stage for stage in config.predicates if stage.alias not in used):
        # Its errors are raised although no transformation uses it, as in Java.
        with full_names(f"predicates.{unused.alias}"):
            _predicate_class(unused, plugins)().config().parse(unused.config)
    return create_chain_of_stages(config.transforms, config, plugins, errors, monitor)


def create_chain_of_stages(
    stages: Sequence[PluginStage],
    config: ConnectorConfig,
    plugins: Plugins,
    errors: RetryWithTolerance[O],
    monitor: Monitor = no_monitor,
) -> TransformationChain[O, Any]:
    """Return the chain of some of a connector's transformations, which follow one another."""
    return TransformationChain([_create_stage(stage, config, plugins, monitor) for stage in stages], errors)


def _create_stage(
    stage: PluginStage, config: ConnectorConfig, plugins: Plugins, monitor: Monitor
) -> TransformationStage:
    prefix = f"transforms.{stage.alias}"
    cls = plugins.transformation(stage.type, f"{prefix}.type")
    operation = Operation(Stage.TRANSFORMATION, plugins.class_name(PluginKind.TRANSFORMATION, cls), stage.alias)
    transformation = cls()
    with full_names(prefix):
        transformation.configure(stage.config)
    monitor(transformation, {"transform": stage.alias})
    # Its own instance for each stage, as each is closed with its stage.
    used = (each for each in config.predicates if each.alias == stage.predicate)
    predicates = (_create_predicate(each, plugins, monitor) for each in used)
    return TransformationStage(operation, transformation, next(predicates, None), stage.negate)


def _create_predicate(stage: PluginStage, plugins: Plugins, monitor: Monitor) -> Predicate[Any]:
    predicate = _predicate_class(stage, plugins)()
    with full_names(f"predicates.{stage.alias}"):
        predicate.configure(stage.config)
    monitor(predicate, {"predicate": stage.alias})
    return predicate


def _predicate_class(stage: PluginStage, plugins: Plugins) -> type[Predicate[Any]]:
    return plugins.predicate(stage.type, f"predicates.{stage.alias}.type")


@contextmanager
def full_names(prefix: str) -> Iterator[None]:
    """Raise a plugin's ConfigError under the full name of the property."""
    try:
        yield
    except ConfigError as error:
        if error.name is None:
            raise ConfigError(f"{prefix}: {error_text(error)}", prefix) from error
        name = error.name if error.name.startswith(f"{prefix}.") else f"{prefix}.{error.name}"
        raise ConfigError(error_text(error).replace(error.name, name, 1), name, error.value) from error
