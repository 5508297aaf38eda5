# SPDX-License-Identifier: Apache-2.0
"""A connector's own chain of transformations, with a note of what each of them does to a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.api.record import ConnectRecord
from headrace.api.transform import Predicate, Transformation
from headrace.config.connector_config import ConnectorConfig
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import configure_frame_step, is_frame_step
from headrace.task.transformation_chain import TransformationChain, TransformationStage, create_chain_of_stages

Json = dict[str, Any]
NOT_PREVIEWED = "not previewed"
"""The outcome of a step on Spark, and of the records that reach it."""
ON_SPARK = "this step runs on Spark and is not previewed, nor is what follows it"


class Steps:
    """The steps of the record that is in the chain. One thread."""

    def __init__(self) -> None:
        self._taken: list[Json] = []

    def add(self, operation: Operation, outcome: str, **more: Any) -> None:
        """Note a step; without values of None."""
        given = {"transform": operation.alias, "class": operation.executing_class, "outcome": outcome, **more}
        self._taken.append({name: value for name, value in given.items() if value is not None})

    def take(self) -> list[Json]:
        """Return the steps since the last call."""
        taken, self._taken = self._taken, []
        return taken

    @property
    def at_spark(self) -> bool:
        """True if the record has reached a step on Spark, where its preview ends."""
        return bool(self._taken) and self._taken[-1]["outcome"] == NOT_PREVIEWED


class _ObservedPredicate(Predicate[Any]):
    """A predicate that remembers its last result; None since ``result`` was reset."""

    def __init__(self, inner: Predicate[Any]) -> None:
        self._inner = inner
        self.result: bool | None = None

    def test(self, record: Any) -> bool:
        self.result = bool(self._inner.test(record))
        return self.result

    def close(self) -> None:
        self._inner.close()


class _ObservedStage(Transformation[Any]):
    """A stage that notes its result. No PartTransformation, so that it is never fused with its neighbours."""

    def __init__(self, stage: TransformationStage, predicate: str | None, steps: Steps, show: Callable[[Any], Json]):
        self._predicate = None if stage.predicate is None else _ObservedPredicate(stage.predicate)
        self._stage = replace(stage, predicate=self._predicate)
        self._alias = predicate
        self._steps = steps
        self._show = show

    def apply(self, record: ConnectRecord) -> Any:
        before = self._show(record)  # first: headers may be changed in place
        if self._predicate is not None:
            self._predicate.result = None
        try:
            result = self._stage.apply(record)
        except BaseException:
            self._add("failed")
            raise
        if self._is_skipped():
            self._add("skipped")
        elif result is None:
            self._add("dropped")
        else:
            after = self._show(result)
            self._add("unchanged") if after == before else self._add("changed", after=after)
        return result

    def close(self) -> None:
        self._stage.close()

    def _is_skipped(self) -> bool:
        return self._predicate is not None and self._predicate.result is self._stage.negate

    def _add(self, outcome: str, **more: Any) -> None:
        tested = None
        if self._predicate is not None:
            tested = {"predicate": self._alias, "result": self._predicate.result, "negate": self._stage.negate}
        self._steps.add(self._stage.operation, outcome, predicate=tested, **more)


class _NotPreviewed(Transformation[Any]):
    """Takes the place of a step on frames, where the preview of each record ends: what follows would get others."""

    def __init__(self, operation: Operation, steps: Steps) -> None:
        self._operation = operation
        self._steps = steps

    def apply(self, record: Any) -> None:
        self._steps.add(self._operation, NOT_PREVIEWED, message=ON_SPARK)


def create_observed_chain(
    config: ConnectorConfig,
    plugins: Plugins,
    errors: RetryWithTolerance[O],
    steps: Steps,
    show: Callable[[Any], Json],
) -> TransformationChain[O, Any]:
    """Return the chain of a connector's ``transforms``, whose steps are added to ``steps``; ``show`` makes their JSON.

    Raise ConfigError, naming the property, for a transformation that is not possible.
    """
    stages: list[TransformationStage] = []
    for each in config.transforms:
        if is_frame_step(each, plugins):
            name = plugins.class_name(PluginKind.TRANSFORMATION, type(configure_frame_step(each, plugins)))
            operation = Operation(Stage.TRANSFORMATION, name, each.alias)
            stages.append(TransformationStage(operation, _NotPreviewed(operation, steps)))
        else:
            created: Sequence[TransformationStage]
            created = create_chain_of_stages([each], config, plugins, errors).stages
            stages += [
                TransformationStage(stage.operation, _ObservedStage(stage, each.predicate, steps, show))
                for stage in created
            ]
    return TransformationChain(stages, errors)
