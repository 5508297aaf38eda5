# SPDX-License-Identifier: Apache-2.0
"""The target of a SparkSink: taken over and written to by its tasks, rewound by an operator.

A task knows the partitions that it has taken over, and writes their next batches.

An operator's change of offsets (KIP-875) has two steps, around the change of the consumer group's offsets, for the
target records offsets itself. No task may take a partition over between them: it might have begun at the old offsets or
at the new ones.
"""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.api.frames import FrameJob, Frames
from headrace.api.sink import NewOffset, OffsetJobs, TopicPartition
from headrace.connectors.common.batch_names import are_different
from headrace.connectors.spark_sink.batch_buffer import Run
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROW = "row"
"""The column that identifies a row within a batch."""
_TARGETS = "targets"


@dataclass(frozen=True, slots=True)
class State:
    """All offsets below `next` are written. `number` counts writes and take-overs: the task that knows it may write."""

    next: int
    number: int


class SinkTarget:
    """A target, for the task's thread only. Methods raise the errors of `Frames` and of `SinkTaskContext.topic_id`."""

    def __init__(self, settings: SinkSettings, frames: Frames, topic_id: Callable[[str], str]) -> None:
        self._settings = settings
        self._frames = frames
        self._topic_id = topic_id
        self._states: dict[TopicPartition, State] = {}
        self._topics: dict[TopicPartition, str] = {}
        """The id of each partition's topic when it was opened."""

    def opened(self, partitions: Collection[TopicPartition]) -> None:
        """Note the ids of the topics that the next records are of."""
        ids = {topic: self._topic_id(topic) for topic in {where.topic for where in partitions}}
        self._topics |= {where: ids[where.topic] for where in partitions}

    def is_of_another_topic(self, where: TopicPartition) -> bool:
        """Return True if the topic was deleted and created again since the partition was opened."""
        return are_different(self._topics[where], self._topic_id(where.topic))

    def unknown(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return those partitions whose state is not known."""
        return sorted(where for where in partitions if where not in self._states)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        for where in partitions:
            self._states.pop(where, None)
            self._topics.pop(where, None)

    def take_over(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Finish a predecessor's writes and fence it; return the next offset of each partition.

        For a topic that was created again nothing is written yet.
        """
        self.opened([where for where in partitions if where not in self._topics])
        found: dict[TopicPartition, int] = {}
        for topic, group in groupby(partitions, attrgetter("topic")):
            places = [
                {"topic": topic, "partition": where.partition, "topic_id": self._topics[where]} for where in group
            ]
            job = FrameJob(
                f"{self._settings.module}:take_over",
                self._settings.job(topic, places),
                f"what is written of {_list(topic, places)}",
            )
            for row in self._frames.run(job).to_pylist():
                where = TopicPartition(topic, row["partition"])
                self._states[where] = State(row["next"], row["number"])
                found[where] = row["next"]
        return found

    def batch_with_first(self, due: Sequence[Run]) -> list[Run]:
        """Return the runs to write with the first one, at most one of each partition."""
        first, chosen = due[0], {due[0].where: due[0]}
        if not self._settings.one_by_one:
            for run in due:
                if run.where.topic == first.where.topic and run.types == first.types:
                    chosen.setdefault(run.where, run)
        return list(chosen.values())

    def write(self, runs: Sequence[Run]) -> None:
        """Write runs of one topic. After an error their partitions' state is unknown: they may be written or not."""
        topic, states = runs[0].where.topic, {run.where: self._states.pop(run.where) for run in runs}
        batches = [
            {
                "topic": topic,
                "partition": run.where.partition,
                "topic_id": self._topics[run.where],
                "first": run.first,
                "last": run.last,
                "next": states[run.where].next,
                "number": states[run.where].number,
            }
            for run in runs
        ]
        job = FrameJob(
            f"{self._settings.module}:write", self._settings.job(topic, batches), f"write {_list(topic, batches)}"
        )
        self._frames.run(job, _numbered([run.table for run in runs]))
        for run in runs:
            self._states[run.where] = State(run.last + 1, states[run.where].number + 1)


def _numbered(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables, promote_options="default")
    return table.append_column(ROW, pa.array(np.arange(table.num_rows)))


def _list(topic: str, batches: Sequence[dict[str, object]]) -> str:
    def shown(batch: dict[str, object]) -> str:
        offsets = f" {batch['first']} to {batch['last']}" if "first" in batch else ""
        return f"{topic}-{batch['partition']}{offsets}"

    return ", ".join(map(shown, batches))


def offset_jobs(settings: SinkSettings, offsets: Mapping[TopicPartition, NewOffset]) -> OffsetJobs:
    """Return the jobs of the two steps, for all topics at once."""
    token = uuid.uuid4().int >> 66  # fits a type of every database
    targets = []
    for topic in sorted({where.topic for where in offsets}):
        places = [
            {"partition": where.partition, "to": new.offset, "asked": new.asked, "token": token}
            for where, new in sorted(offsets.items())
            if where.topic == topic
        ]
        targets.append(settings.job(topic, places))
    job = {"module": settings.module, _TARGETS: json.dumps(targets)}
    said = f"offsets of {settings.connector}"
    return OffsetJobs(FrameJob(f"{__name__}:before_change", job, said), FrameJob(f"{__name__}:after_change", job, said))


def before_change(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Frame function: announce the change. Raise DataError if an offset cannot be rewound to."""
    for module, target in _targets(settings):
        module.prepare_rewind(spark, target)


def after_change(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Frame function: change the target's offsets. Raise FencedError if a task has taken a partition over."""
    for module, target in _targets(settings):
        module.rewind(spark, target)


def _targets(settings: Mapping[str, str]) -> Iterator[tuple[Any, Mapping[str, str]]]:
    module = importlib.import_module(settings["module"])
    for target in json.loads(settings[_TARGETS]):
        yield module, target
