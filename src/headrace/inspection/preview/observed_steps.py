# SPDX-License-Identifier: Apache-2.0
"""A connector's own transformations of single records, with a note of what each of them does to a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.api.record import ConnectRecord
from headrace.api.transform import Predicate, Transformation
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import O, Operation
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.transformation_chain import TransformationChain, TransformationStage, create_chain_of_stages

Json = dict[str, Any]


class Steps:
    """The steps of the record that is in the chain. One thread."""

    def __init__(self) -> None:
        self._taken: list[Json] = []

    def add(self, operation: Operation, outcome: str, **more: Any) -> None:
        """Note a step."""
        self._taken.append(step_json(operation, outcome, **more))

    def take(self) -> list[Json]:
        """Return the steps since the last call."""
        taken, self._taken = self._taken, []
        return taken


def step_json(operation: Operation, outcome: str, **more: Any) -> Json:
    """Return a step; without values of None."""
    given = {"transform": operation.alias, "class": operation.executing_class, "outcome": outcome, **more}
    return {name: value for name, value in given.items() if value is not None}


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


def create_observed_stages(
    stages: Sequence[PluginStage],
    config: ConnectorConfig,
    plugins: Plugins,
    errors: RetryWithTolerance[O],
    steps: Steps,
    show: Callable[[Any], Json],
) -> TransformationChain[O, Any]:
    """Return the chain of some of a connector's transformations, which are added to ``steps``.

    ``show`` makes the JSON of a record. Raise ConfigError, naming the property, for a transformation that is not
    possible.
    """
    observed: list[TransformationStage] = []
    for each in stages:
        created: Sequence[TransformationStage]
        created = create_chain_of_stages([each], config, plugins, errors).stages
        observed += [
            TransformationStage(stage.operation, _ObservedStage(stage, each.predicate, steps, show))
            for stage in created
        ]
    return TransformationChain(observed, errors)
