# SPDX-License-Identifier: Apache-2.0
"""The target of a SparkSink, for its task: the partitions taken over, and the writes of their next batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
import pyarrow as pa

from headrace.api.frames import FrameJob, Frames
from headrace.api.sink import TopicPartition
from headrace.connectors.common.topic_identity import are_different
from headrace.connectors.spark_sink.batch_buffer import Run
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings

ROW = "row"
"""The column that identifies a row within a batch."""


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
