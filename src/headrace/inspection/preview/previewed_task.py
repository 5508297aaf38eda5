# SPDX-License-Identifier: Apache-2.0
"""The runtime as a previewed connector and its task see it: committed offsets to read, and nothing to write to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.api.connector import Connector, ConnectorContext
from headrace.api.errors import ConnectError
from headrace.api.frames import Frames
from headrace.api.source import SourceConnector
from headrace.inspection.decoded_record import decoded_part
from headrace.inspection.preview.previewed_frames import OfferedFrames
from headrace.metrics.plugin_metrics import OwnPluginMetrics, PluginRegistry
from headrace.storage.offset_codec import encode_partition
from headrace.task.source.source_task_factory import LinkedOffsetStorageReader
from headrace.task.task_protocol import A, ProcessEvent, ReadOffsets, Request
from headrace.task.task_spec import TaskSpec
from headrace.task.worker_link import TaskControl
from headrace.worker.connectors.worker_connectors import (
    ContextServices,
    WorkerSinkConnectorContext,
    WorkerSourceConnectorContext,
)

Json = dict[str, Any]
PART_SIZE = 8_192
"""Characters of JSON that are shown of a key, a value or a header, and of its bytes."""


class PreviewLink:
    """A ``WorkerLink`` with the offsets that were committed when the preview began; reports go nowhere."""

    def __init__(self, connector: str, offsets: Sequence[Sequence[Mapping[str, Any]]], frames: Frames) -> None:
        """``offsets``: pairs of source partition and source offset. ``frames`` are for the task's own jobs."""
        self._connector = connector
        self._offsets = {encode_partition(partition): dict(offset) for partition, offset in offsets}
        self.frames = frames

    def send(self, event: ProcessEvent) -> None:
        """Do nothing: there is no worker that could want it."""

    def ask(self, request: Request[A]) -> A:
        if isinstance(request, ReadOffsets):
            found: Any = [self._offsets.get(encode_partition(each)) for each in request.partitions]
            return found  # type: ignore[no-any-return]
        raise ConnectError(f"A preview has no answer to {type(request).__name__}")


@dataclass(frozen=True, slots=True)
class PreviewedTask:
    """A task to be previewed. ``frames`` are for its steps; those of the task itself are in ``link``."""

    spec: TaskSpec
    link: PreviewLink
    control: TaskControl
    frames: OfferedFrames


def connector_context(connector: Connector, link: PreviewLink) -> ConnectorContext:
    """Return the context of a connector; errors of its own threads are printed, and task configurations stay."""
    services = ContextServices(lambda: None, _print, OwnPluginMetrics(PluginRegistry()))
    if isinstance(connector, SourceConnector):
        return WorkerSourceConnectorContext(services, LinkedOffsetStorageReader(link))
    return WorkerSinkConnectorContext(services)


def _print(error: BaseException) -> None:
    print(f"The connector has reported an error: {error}")


def record_json(record: Any) -> Json:
    """Return a record, as it is between two steps, as JSON."""
    return {
        "topic": record.topic,
        "partition": record.kafka_partition,
        "timestamp": record.timestamp,
        "key": _part(record.key_schema, record.key),
        "value": _part(record.value_schema, record.value),
        "headers": [{"key": each.key, "value": _part(each.schema, each.value)} for each in record.headers],
    }


def _part(schema: Any, value: Any) -> Json:
    from headrace.api.converter import SchemaAndValue

    convert: Callable[[], SchemaAndValue] = lambda: SchemaAndValue(schema, value)  # noqa: E731
    return decoded_part(None, convert, PART_SIZE)
