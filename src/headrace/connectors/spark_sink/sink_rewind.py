# SPDX-License-Identifier: Apache-2.0
"""An operator's change of offsets (KIP-875) in the target of a SparkSink, which records offsets itself.

It has two steps, around the change of the consumer group's offsets. No task may take a partition over between them: it
might have begun at the old offsets or at the new ones.
"""

from __future__ import annotations

import importlib
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace.api.frames import FrameJob
from headrace.api.sink import NewOffset, OffsetJobs, TopicPartition
from headrace.connectors.spark_sink.spark_sink_config import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TARGETS = "targets"


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
    return OffsetJobs(FrameJob(f"{__name__}:before", job, said), FrameJob(f"{__name__}:after", job, said))


def before(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Frame function: announce the change. Raise DataError if an offset cannot be rewound to."""
    for module, target in _targets(settings):
        module.prepare_rewind(spark, target)


def after(spark: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Frame function: change the target's offsets. Raise FencedError if a task has taken a partition over."""
    for module, target in _targets(settings):
        module.rewind(spark, target)


def _targets(settings: Mapping[str, str]) -> Iterator[tuple[Any, Mapping[str, str]]]:
    module = importlib.import_module(settings["module"])
    for target in json.loads(settings[_TARGETS]):
        yield module, target
