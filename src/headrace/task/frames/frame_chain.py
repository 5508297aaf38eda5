# SPDX-License-Identifier: Apache-2.0
"""A chain with steps on frames: cut into parts that work record by record, and parts that work on batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from headrace.api.errors import ConfigError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.record import SourceRecord
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_step import FrameRunner, FrameStep, TolerantStep, skipping
from headrace.task.record_converter import Polled
from headrace.task.transformation_chain import TransformationChain, chain_of_stages, full_names

B = TypeVar("B", bound=Sized)
"""A batch, as it is on its way through the task."""


class Part(Protocol[B]):
    """One or more neighbours of a chain."""

    def apply(self, batch: B) -> list[B]:
        """What the batch becomes, in order."""

    def close(self) -> None: ...


class FrameChain(Generic[B]):
    """Task's thread only. Neighbours that work record by record are one part, fused as in any chain."""

    def __init__(self, parts: Sequence[Part[B]]) -> None:
        self._parts = tuple(parts)

    def __len__(self) -> int:
        """How many parts it has."""
        return len(self._parts)

    def apply(self, batch: B) -> list[B]:
        """What becomes of a batch, in order: batches none of which is empty.

        Errors are those of ``TransformationChain.apply_all`` and ``FrameRunner.run``.
        """
        batches = [batch]
        for part in range(len(self._parts)):
            batches = self.apply_part(part, batches)
        return batches

    def apply_part(self, part: int, batches: Sequence[B]) -> list[B]:
        """What one part makes of batches; they are as they were after an error."""
        made = [result for batch in batches for result in self._parts[part].apply(batch)]
        return [batch for batch in made if len(batch)]

    def close(self) -> None:
        for part in self._parts:
            part.close()


class _SourceRecords:
    """Part of a source's chain: what works record by record."""

    def __init__(self, chain: TransformationChain[SourceRecord, SourceRecord]) -> None:
        self._chain = chain

    def apply(self, batch: Polled) -> list[Polled]:
        from headrace.api.arrow_records import table_to_records

        records = batch if isinstance(batch, Sequence) else table_to_records(batch)
        # A row that a step on frames has made stands for no polled record: it is what is reported of it.
        return [[record for record in self._chain.apply_all(records, records) if record is not None]]

    def close(self) -> None:
        self._chain.close()


def _only_record(batch: Polled) -> SourceRecord:
    from headrace.api.arrow_records import table_to_records

    [record] = batch if isinstance(batch, Sequence) else table_to_records(batch)
    return record


def has_frame_steps(config: ConnectorConfig, plugins: Plugins) -> bool:
    return any(_is_frame_step(stage, plugins) for stage in config.transforms)


def frame_chain(
    config: ConnectorConfig, plugins: Plugins, errors: RetryWithTolerance[SourceRecord], runner: FrameRunner
) -> FrameChain[Polled]:
    """The plan of a source's chain. ConfigError, naming the property, for what cannot be."""
    # Imports Arrow, which takes time: workers look at chains, and have no steps.
    from headrace.task.frames.record_tables import RecordTables

    def on_records(stages: Sequence[PluginStage]) -> Part[Polled]:
        return _SourceRecords(chain_of_stages(stages, config, plugins, errors))

    def on_frames(stage: PluginStage) -> Part[Polled]:
        step = FrameStep(stage.alias, configured_frame_step(stage, plugins), runner, RecordTables())
        if not config.error_handling.tolerates:
            return step
        return TolerantStep(step, skipping(stage, plugins, errors, _only_record))

    return planned(config, plugins, on_records, on_frames)


def planned(
    config: ConnectorConfig,
    plugins: Plugins,
    on_records: Callable[[Sequence[PluginStage]], Part[B]],
    on_frames: Callable[[PluginStage], Part[B]],
) -> FrameChain[B]:
    """The chain that has one part for each step on frames, and one for those that stand between two of them."""
    parts: list[Part[B]] = []
    for by_frames, group in groupby(config.transforms, key=lambda stage: _is_frame_step(stage, plugins)):
        stages = list(group)
        parts += [on_frames(stage) for stage in stages] if by_frames else [on_records(stages)]
    return FrameChain(parts)


def _is_frame_step(stage: PluginStage, plugins: Plugins) -> bool:
    return issubclass(plugins.transformation(stage.type, f"transforms.{stage.alias}.type"), FrameTransformation)


def configured_frame_step(stage: PluginStage, plugins: Plugins) -> FrameTransformation[Any]:
    """The transformation, checked as far as one can without Spark. ConfigError, naming the property."""
    prefix = f"transforms.{stage.alias}"
    if stage.predicate is not None:
        reason = "a step on frames has no predicate: it can filter by itself"
        raise ConfigError.invalid(f"{prefix}.predicate", stage.predicate, reason)
    made = plugins.transformation(stage.type, f"{prefix}.type")()
    assert isinstance(made, FrameTransformation)
    with full_names(prefix):
        made.configure(stage.config)
    for property, name in made.functions().items():
        plugins.function(name, f"{prefix}.{property}")
    return made
