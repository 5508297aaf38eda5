# SPDX-License-Identifier: Apache-2.0
"""A connector's own chain, with a note of what each step does to a record: steps on records, and those on frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Generic, Protocol

from headrace.config.connector_config import ConnectorConfig, PluginStage
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.inspection.preview.observed_frames import ObservedFrameStep, sink_results, source_results
from headrace.inspection.preview.observed_steps import Steps, create_observed_stages
from headrace.inspection.preview.preview_progress import Progress
from headrace.inspection.preview.previewed_frames import OfferedFrames, StepFrames
from headrace.inspection.preview.previewed_record import Failures, PreviewedRecord, ending
from headrace.inspection.preview.previewed_task import record_json
from headrace.plugins.builtin import PluginKind
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.frames.frame_chain import configure_frame_step, split_chain
from headrace.task.frames.frame_step import FrameRunner, FrameStep, Tables
from headrace.task.transformation_chain import TransformationChain

STAGE: Final = "transformations and converters"
_PLAN_SIZE: Final = 20_000
"""Characters of a plan that are shown."""


class Part(Protocol[O]):
    """Successive steps of a chain."""

    def apply(self, records: Sequence[PreviewedRecord[O]]) -> None: ...

    def close(self) -> None: ...


class ObservedChain(Generic[O]):
    """Applies a connector's ``transforms`` to previewed records. One thread."""

    def __init__(
        self,
        assembly: TaskAssembly[Any, O],
        errors: RetryWithTolerance[O],
        failures: Failures[O],
        frames: OfferedFrames,
        progress: Progress,
    ) -> None:
        """Raise ConfigError, naming the property, for a transformation that is not possible."""
        self._assembly = assembly
        self._errors = errors
        self._failures = failures
        self._frames = frames
        self._progress = progress
        self.by_batch = assembly.has_frame_steps
        """True if steps are applied to whole batches, and not to each record in turn."""
        self._parts: list[Part[O]] = []
        for by_frames, stages in split_chain(assembly.config, assembly.plugins):
            self._parts += [self._on_frames(stage) for stage in stages] if by_frames else [self._on_records(stages)]
        if self.by_batch:
            frames.prepare()

    def apply(self, records: Sequence[PreviewedRecord[O]]) -> None:
        """Apply all steps to one batch of records."""
        for part in self._parts:
            part.apply([record for record in records if record.goes_on])

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _on_records(self, stages: Sequence[PluginStage]) -> Part[O]:
        steps = Steps()
        assembly = self._assembly
        chain: TransformationChain[O, Any] = create_observed_stages(
            stages, assembly.config, assembly.plugins, self._errors, steps, record_json
        )
        return _RecordPart(chain, steps, assembly.config, self._failures)

    def _on_frames(self, stage: PluginStage) -> Part[O]:
        assembly, plugins = self._assembly, self._assembly.plugins
        transformation = configure_frame_step(stage, plugins)
        name = plugins.class_name(PluginKind.TRANSFORMATION, type(transformation))
        operation = Operation(Stage.TRANSFORMATION, name, stage.alias)

        def show_plan(plan: str) -> None:
            shown = plan if len(plan) <= _PLAN_SIZE else f"{plan[:_PLAN_SIZE]}…"
            self._progress.emit("plan", {"transform": stage.alias, "class": name, "plan": shown})

        of_source = isinstance(assembly.config, SourceConnectorConfig)
        frames = StepFrames(self._frames, show_plan, each=of_source)
        handling = replace(assembly.config.error_handling, retry_timeout=0.0)
        runner = FrameRunner(frames, handling, lambda seconds: False)
        step: FrameStep[Any] = FrameStep(stage.alias, transformation, runner, _tables(of_source))
        results = source_results(step, frames) if of_source else sink_results(step)
        return ObservedFrameStep(operation, results, step.close, assembly.config, self._errors, self._failures)


def _tables(of_source: bool) -> Tables[Any]:
    # They import Arrow, which takes time.
    if of_source:
        from headrace.task.frames.record_tables import RecordTables

        return RecordTables()
    from headrace.task.frames.sink_tables import SinkTables

    return SinkTables()


class _RecordPart(Generic[O]):
    """Steps that work record by record. One thread."""

    def __init__(
        self,
        chain: TransformationChain[O, Any],
        steps: Steps,
        config: ConnectorConfig,
        failures: Failures[O],
    ) -> None:
        self._chain = chain
        self._steps = steps
        self._config = config
        self._failures = failures

    def apply(self, records: Sequence[PreviewedRecord[O]]) -> None:
        for record in records:
            self._apply(record)

    def close(self) -> None:
        self._chain.close()

    def _apply(self, record: PreviewedRecord[O]) -> None:
        several, results = len(record.rows) > 1, list[Any]()
        for number, row in enumerate(record.rows, 1):
            with ending(record, self._failures, self._config, STAGE):
                results += [each for each in self._chain.apply_all([row], [record.original]) if each is not None]
            record.steps += [{**step, "row": number} if several else step for step in self._steps.take()]
            if record.outcome is not None:
                return
        record.rows = results
