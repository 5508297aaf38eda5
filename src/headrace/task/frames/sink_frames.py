# SPDX-License-Identifier: Apache-2.0
"""The chain of a sink whose ``transforms`` have steps on frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.api.frames import Frames
from headrace.api.record import SinkRecord
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import ConsumedRecord
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import FrameChain, Part, configure_frame_step, create_chain_of_parts
from headrace.task.frames.frame_step import (
    FrameRunner,
    FrameStep,
    StrictStep,
    TolerantStep,
    create_skip,
    operation_of,
)
from headrace.task.task_metrics import Monitor, no_monitor
from headrace.task.transformation_chain import TransformationChain, create_chain_of_stages

Records = Sequence[SinkRecord]
Original = Callable[[SinkRecord], ConsumedRecord]


class _SinkRecords:
    """The part of a sink's chain that works record by record."""

    def __init__(self, chain: TransformationChain[ConsumedRecord, SinkRecord], original: Original) -> None:
        self._chain = chain
        self._original = original

    def apply(self, batch: Records) -> list[Records]:
        transformed = self._chain.apply_all(batch, _Originals(batch, self._original))
        return [[record for record in transformed if record is not None]]

    def close(self) -> None:
        self._chain.close()


class _Originals(Sequence[ConsumedRecord]):
    """Records as they were consumed, each created when it is asked for."""

    def __init__(self, records: Records, original: Original) -> None:
        self._records = records
        self._original = original

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, row: Any) -> Any:
        return self._original(self._records[row])


def create_sink_frame_chain(
    config: ConnectorConfig,
    plugins: Plugins,
    errors: RetryWithTolerance[ConsumedRecord],
    frames: Frames,
    original: Original,
    monitor: Monitor = no_monitor,
) -> FrameChain[Records]:
    """Return the chain. ConfigError, naming the property, for a step that is not possible.

    ``original`` returns a record as it was consumed. The chain does not wait for a job that cannot be run now: the
    task's loop tries a batch again, and handles rebalances and stops between two tries.
    """
    from headrace.task.frames.sink_tables import SinkTables

    runner = FrameRunner(frames, replace(config.error_handling, retry_timeout=0.0), lambda seconds: False)

    def on_records(stages: Sequence[PluginStage]) -> Part[Records]:
        return _SinkRecords(create_chain_of_stages(stages, config, plugins, errors, monitor), original)

    def on_frames(stage: PluginStage) -> Part[Records]:
        counts = errors.step(operation_of(stage, plugins))
        step = FrameStep(stage.alias, configure_frame_step(stage, plugins), runner, SinkTables(), counts)
        if not config.error_handling.tolerates:
            return StrictStep(step)
        return TolerantStep(step, create_skip(stage, plugins, errors, lambda batch: original(batch[0])))

    return create_chain_of_parts(config, plugins, on_records, on_frames)
