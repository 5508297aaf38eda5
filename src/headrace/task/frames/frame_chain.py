# SPDX-License-Identifier: Apache-2.0
"""A chain with steps on frames: cut into parts that work record by record, and parts that work on batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from headrace.api.errors import ConfigError
from headrace.api.frame_transform import FrameTransformation
from headrace.api.record import SourceRecord
from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_step import FrameRunner, FrameStep
from headrace.task.transformation_chain import TransformationChain, chain_of_stages, full_names

if TYPE_CHECKING:
    from headrace.task.source.poller import Polled

Records = TransformationChain[SourceRecord, SourceRecord]


class FrameChain:
    """Task's thread only. Neighbours that work record by record are one part, fused as in any chain."""

    def __init__(self, parts: Sequence[Records | FrameStep]) -> None:
        self._parts = tuple(parts)

    def apply(self, polled: Polled) -> list[Polled]:
        """What becomes of a batch, in order: batches of records or tables, none of them empty.

        Errors are those of ``TransformationChain.apply_all`` and ``FrameRunner.run``.
        """
        batches = [polled]
        for part in self._parts:
            made = [result for batch in batches for result in _applied(part, batch)]
            batches = [batch for batch in made if len(batch)]
        return batches

    def close(self) -> None:
        for part in self._parts:
            part.close()


def _applied(part: Records | FrameStep, batch: Polled) -> list[Polled]:
    if isinstance(part, FrameStep):
        return part.apply(batch)
    from headrace.api.arrow_records import table_to_records

    records = batch if isinstance(batch, Sequence) else table_to_records(batch)
    # A row that a step on frames has made stands for no polled record: it is what is reported of it.
    return [[record for record in part.apply_all(records, records) if record is not None]]


def has_frame_steps(config: ConnectorConfig, plugins: Plugins) -> bool:
    return any(_is_frame_step(stage, plugins) for stage in config.transforms)


def frame_chain(
    config: ConnectorConfig, plugins: Plugins, errors: RetryWithTolerance[SourceRecord], runner: FrameRunner
) -> FrameChain:
    """The plan of a chain. ConfigError, naming the property, for what cannot be."""
    parts: list[Records | FrameStep] = []
    for on_frames, stages in groupby(config.transforms, key=lambda stage: _is_frame_step(stage, plugins)):
        if on_frames:
            parts += [_frame_step(stage, plugins, runner) for stage in stages]
        else:
            parts.append(chain_of_stages(list(stages), config, plugins, errors))
    return FrameChain(parts)


def _is_frame_step(stage: PluginStage, plugins: Plugins) -> bool:
    return issubclass(plugins.transformation(stage.type, f"transforms.{stage.alias}.type"), FrameTransformation)


def _frame_step(stage: PluginStage, plugins: Plugins, runner: FrameRunner) -> FrameStep:
    return FrameStep(stage.alias, configured_frame_step(stage, plugins), runner)


def configured_frame_step(stage: PluginStage, plugins: Plugins) -> FrameTransformation[SourceRecord]:
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
