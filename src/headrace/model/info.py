# SPDX-License-Identifier: Apache-2.0
"""Entities of the REST API: of its answers, whose field names are Kafka Connect's, and changes of offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """``GET /``. ``version`` is Kafka's, from which clients derive a worker's features."""

    version: str
    commit: str
    kafka_cluster_id: str | None
    headrace_version: str


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """``GET /connectors/{name}``; ``type`` is source, sink or unknown.

    ``warnings`` are in the answer to a request that has written the configuration: a line for each property of it that
    has no effect, None if there is none. Kafka Connect has no such key.
    """

    name: str
    config: Config
    tasks: tuple[ConnectorTaskId, ...]
    type: str
    warnings: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One element of ``GET /connectors/{name}/tasks``."""

    id: ConnectorTaskId
    config: Config


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The connector's part of a status; ``trace`` only when FAILED."""

    state: str
    worker_id: str | None
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task's part of a status."""

    id: int
    state: str
    worker_id: str | None
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStateInfo:
    """``GET /connectors/{name}/status``."""

    name: str
    connector: ConnectorState
    tasks: tuple[TaskState, ...]
    type: str


@dataclass(frozen=True, slots=True)
class SparkAttempt:
    """The attempt at a task that Spark runs now.

    ``attempt`` counts the processes of a launch from 0; ``pid`` is the latest of them, on ``host``. The other fields
    are Spark's, and None where Spark does not report them.
    """

    app_id: str | None
    job_id: int | None
    executor: str | None
    attempt: int
    host: str | None
    pid: int


@dataclass(frozen=True, slots=True)
class SparkCores:
    """The cores that Spark has for a worker's tasks, on so many executors, and those in use, as Spark counts them."""

    executors: int
    total: int
    busy: int


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One element of ``GET /workers``.

    ``worker_id`` is its host:port in statuses, ``url`` that of its REST API for other workers, ``version`` headrace's.
    ``started_at`` is in milliseconds since the epoch. ``memory_bytes`` is the resident memory of its own process,
    without Spark's and those of tasks; ``load`` the average of the last minute on its machine, which has ``cpus``.
    ``spark`` is null while Spark is not running. All before ``config_offset`` in the config topic is applied;
    ``config_lag`` is the number of offsets from there to the topic's end.
    """

    worker_id: str
    url: str
    version: str
    started_at: int
    connectors: int
    tasks: int
    spark: SparkCores | None
    memory_bytes: int
    load: float
    cpus: int
    config_offset: int
    config_lag: int = 0
    leader: bool = False


@dataclass(frozen=True, slots=True)
class WorkersInfo:
    """``GET /workers``: all members of the group; ``missing`` has those that have not answered, with the reason.

    ``leader`` is the id of the group's leader, null while there is none, and ``config_end`` the end of the config
    topic, as far as any worker that has answered has read it.
    """

    leader: str | None
    config_end: int
    workers: tuple[WorkerInfo, ...]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """One element of ``GET /changes``: a line of ``headrace.audit``, with the names of its fields.

    ``time`` is in milliseconds since the epoch. Texts are null where the line has no such field.
    """

    time: int
    worker: str
    who: str
    by: str | None
    address: str | None
    forwarded: bool
    what: str
    connector: str | None
    change: str | None
    result: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """``GET /changes``: the newest first; ``missing`` has workers that have not answered, with the reason."""

    changes: tuple[AuditedChange, ...]
    missing: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One element of ``GET /connector-plugins``; ``class_name`` is shown as ``class``.

    ``error`` is the reason why a plugin cannot be used; it is shown only if there is one.
    """

    class_name: str = field(metadata={"json_name": "class"})
    type: str
    version: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorOffset:
    """One source partition and its offset, or a topic partition and a consumer group's offset (KIP-875)."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """The offsets of the first record that a topic partition still has, or would have, and of the next one."""

    partition: Mapping[str, Any]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class OffsetBounds:
    """The partitions that a sink may read. ``reset`` is its ``auto.offset.reset``: it counts outside of the bounds."""

    reset: str
    partitions: tuple[PartitionBounds, ...]


@dataclass(frozen=True, slots=True)
class OffsetsChange:
    """A change of a stopped connector's offsets.

    ``offsets`` are the partitions to write, each with an offset or with None to delete it; other partitions stay. If it
    is None, all offsets are reset. ``dry_run``: report the differences, change nothing. ``removal``: the connector is
    deleted, and its target must not be changed.
    """

    offsets: tuple[ConnectorOffset, ...] | None
    dry_run: bool = False
    removal: bool = False


@dataclass(frozen=True, slots=True)
class OffsetDifference:
    """One partition whose offset changes, with both offsets; None where there is none."""

    partition: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OffsetsChanged:
    """The outcome of a change, or with ``dry_run`` the expected one; ``message`` is for the user."""

    message: str
    differences: tuple[OffsetDifference, ...]
