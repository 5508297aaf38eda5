# SPDX-License-Identifier: Apache-2.0
"""A chain with steps on frames: parts that work record by record, and parts that work on batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from headrace.api.errors import ConfigError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.record import SourceRecord
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_step import (
    FrameRunner,
    FrameStep,
    StrictStep,
    TolerantStep,
    create_skip,
    operation_of,
)
from headrace.task.record_converter import Polled
from headrace.task.task_metrics import Monitor, no_monitor
from headrace.task.transformation_chain import TransformationChain, create_chain_of_stages, full_names

B = TypeVar("B", bound=Sized)
"""The type of a batch: a source's or a sink's."""


class Part(Protocol[B]):
    """One or more successive stages of a chain."""

    def apply(self, batch: B) -> list[B]:
        """Return the transformed batches, in order."""

    def close(self) -> None: ...


class FrameChain(Generic[B]):
    """Applies its parts in turn; successive stages that work record by record are one part. Task's thread only."""

    def __init__(self, parts: Sequence[Part[B]]) -> None:
        self._parts = tuple(parts)

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._parts)

    def apply(self, batch: B) -> list[B]:
        """Return the transformed batches, in order, none of them empty.

        Errors are those of ``TransformationChain.apply_all`` and ``FrameRunner.run_job``.
        """
        batches = [batch]
        for part in range(len(self._parts)):
            batches = self.apply_part(part, batches)
        return batches

    def apply_part(self, part: int, batches: Sequence[B]) -> list[B]:
        """Return the batches that one part makes of ``batches``, which an error leaves as they were."""
        results = [result for batch in batches for result in self._parts[part].apply(batch)]
        return [result for result in results if len(result)]

    def close(self) -> None:
        for part in self._parts:
            part.close()


class _SourceRecords:
    """The part of a source's chain that works record by record."""

    def __init__(self, chain: TransformationChain[SourceRecord, SourceRecord]) -> None:
        self._chain = chain

    def apply(self, batch: Polled) -> list[Polled]:
        from headrace.api.arrow_records import table_to_records

        records = batch if isinstance(batch, Sequence) else table_to_records(batch)
        # A result of a frame job has no polled record: the row itself is reported.
        return [[record for record in self._chain.apply_all(records, records) if record is not None]]

    def close(self) -> None:
        self._chain.close()


def _only_record(batch: Polled) -> SourceRecord:
    from headrace.api.arrow_records import table_to_records

    [record] = batch if isinstance(batch, Sequence) else table_to_records(batch)
    return record


def has_frame_steps(config: ConnectorConfig, plugins: Plugins) -> bool:
    """Return True if a transformation of the connector works on DataFrames."""
    return any(is_frame_step(stage, plugins) for stage in config.transforms)


def create_frame_chain(
    config: ConnectorConfig,
    plugins: Plugins,
    errors: RetryWithTolerance[SourceRecord],
    runner: FrameRunner,
    monitor: Monitor = no_monitor,
) -> FrameChain[Polled]:
    """Return a source's chain. ConfigError, naming the property, for a step that is not possible."""
    # Imports Arrow, which takes time, and workers check steps without creating any.
    from headrace.task.frames.record_tables import RecordTables

    def on_records(stages: Sequence[PluginStage]) -> Part[Polled]:
        return _SourceRecords(create_chain_of_stages(stages, config, plugins, errors, monitor))

    def on_frames(stage: PluginStage) -> Part[Polled]:
        counts = errors.step(operation_of(stage, plugins))
        step = FrameStep(stage.alias, configure_frame_step(stage, plugins), runner, RecordTables(), counts)
        if not config.error_handling.tolerates:
            return StrictStep(step)
        return TolerantStep(step, create_skip(stage, plugins, errors, _only_record))

    return create_chain_of_parts(config, plugins, on_records, on_frames)


def create_chain_of_parts(
    config: ConnectorConfig,
    plugins: Plugins,
    on_records: Callable[[Sequence[PluginStage]], Part[B]],
    on_frames: Callable[[PluginStage], Part[B]],
) -> FrameChain[B]:
    """Return the chain with a part for each step on frames, and one for all stages between two of them."""
    parts: list[Part[B]] = []
    for by_frames, stages in split_chain(config, plugins):
        parts += [on_frames(stage) for stage in stages] if by_frames else [on_records(stages)]
    return FrameChain(parts)


def split_chain(config: ConnectorConfig, plugins: Plugins) -> Iterator[tuple[bool, list[PluginStage]]]:
    """Yield successive stages that all work on frames, or all on records, and True if on frames."""
    for by_frames, group in groupby(config.transforms, key=lambda stage: is_frame_step(stage, plugins)):
        yield by_frames, list(group)


def is_frame_step(stage: PluginStage, plugins: Plugins) -> bool:
    """Return True if the transformation works on DataFrames."""
    return issubclass(plugins.transformation(stage.type, f"transforms.{stage.alias}.type"), FrameTransformation)


def configure_frame_step(stage: PluginStage, plugins: Plugins) -> FrameTransformation[Any]:
    """Return the transformation, checked as far as possible without Spark. ConfigError, naming the property."""
    prefix = f"transforms.{stage.alias}"
    if stage.predicate is not None:
        reason = "a step on frames has no predicate: it can filter by itself"
        raise ConfigError.invalid(f"{prefix}.predicate", stage.predicate, reason)
    step = plugins.transformation(stage.type, f"{prefix}.type")()
    assert isinstance(step, FrameTransformation)
    with full_names(prefix):
        step.configure(stage.config)
    for property, name in step.functions().items():
        plugins.function(name, f"{prefix}.{property}")
    return step
