# SPDX-License-Identifier: Apache-2.0
"""The config topic folded into one state. Pure: no I/O, no clock. Java: ``KafkaConfigBackingStore.ConsumeCallback``."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import singledispatchmethod

from headrace.api.errors import DataError
from headrace.model.auto_restart import RestartCount, with_restart, without_connector
from headrace.model.cluster_config_state import ClusterConfigState, Config, OffsetsTopic, RemovedOffsets, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.storage import config_records as records
from headrace.storage import json_bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectorUpdated:
    """A connector was created or has a new configuration."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorRemoved:
    """A connector is gone, or never was."""

    name: str


@dataclass(frozen=True, slots=True)
class TasksUpdated:
    """A connector's task configurations were committed; while it is inconsistent it has none."""

    name: str


@dataclass(frozen=True, slots=True)
class TargetStateChanged:
    """The target state of an existing connector is another one."""

    name: str


@dataclass(frozen=True, slots=True)
class SessionKeyUpdated:
    """There is a new key to sign requests with."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """A restart of a connector was requested; of the state only ``count`` is a part, that of an automatic one."""

    connector: str
    only_failed: bool
    include_tasks: bool
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class TaskRestartRequested:
    """A restart of one task was requested; ``count`` as of ``RestartRequested``."""

    id: ConnectorTaskId
    count: RestartCount | None = None


@dataclass(frozen=True, slots=True)
class LoggerLevelChanged:
    """A logger's level was set in the whole cluster; ``level`` as written, valid or not."""

    logger: str
    level: str


ConfigUpdate = (
    ConnectorUpdated
    | ConnectorRemoved
    | TasksUpdated
    | TargetStateChanged
    | SessionKeyUpdated
    | RestartRequested
    | TaskRestartRequested
    | LoggerLevelChanged
)
_Updates = tuple[ConfigUpdate, ...]


class ConfigLog:
    """The state that the records add up to. Not thread-safe.

    The log's thread applies the records; ``state`` can be handed to any thread.
    """

    def __init__(self) -> None:
        self._offset = -1
        self._session_key: SessionKey | None = None
        self._connectors: dict[str, Config] = {}
        self._target_states: dict[str, TargetState] = {}
        self._task_counts: dict[str, int] = {}
        self._task_configs: dict[ConnectorTaskId, Config] = {}
        self._task_config_offsets: dict[str, int] = {}
        self._task_count_records: dict[str, int] = {}
        self._pending_fencing: set[str] = set()
        self._inconsistent: set[str] = set()
        self._removed_offsets: dict[str, RemovedOffsets] = {}
        self._offsets_topic: OffsetsTopic | None = None
        self._restart_counts: dict[str | ConnectorTaskId, RestartCount] = {}
        self._deferred: dict[str, dict[ConnectorTaskId, Config]] = {}
        self._live_keys: dict[str, set[bytes]] = {}
        self._state: ClusterConfigState | None = None

    @property
    def state(self) -> ClusterConfigState:
        """The state after the last record; built on each read after a change, so read it once per batch."""
        if self._state is None:
            self._state = ClusterConfigState(
                offset=self._offset,
                session_key=self._session_key,
                connector_configs=dict(self._connectors),
                target_states=dict(self._target_states),
                task_counts=dict(self._task_counts),
                task_configs=dict(self._task_configs),
                task_config_offsets=dict(self._task_config_offsets),
                task_count_records=dict(self._task_count_records),
                pending_fencing=frozenset(self._pending_fencing),
                inconsistent=frozenset(self._inconsistent),
                removed_offsets=dict(self._removed_offsets),
                offsets_topic=self._offsets_topic,
                restart_counts=dict(self._restart_counts),
            )
        return self._state

    def live_keys(self, connector: str) -> frozenset[bytes]:
        """Return the keys of all records about the connector that no tombstone has removed."""
        return frozenset(self._live_keys.get(connector, ()))

    def apply(self, key: bytes | None, value: bytes | None, offset: int) -> _Updates:
        """Take in one record and return the changes it makes.

        Invalid records are skipped with a warning. Raise DataError for an invalid count.
        """
        if key is None:
            log.warning("The config topic's record at offset %d has no key and is skipped", offset)
            return ()
        name = key.decode(errors="replace")
        try:
            parsed = json_bytes.loads(value) if value else None  # Java's converter reads no bytes as null
        except DataError as e:
            log.warning("The config topic's record '%.200s' at offset %d is skipped: %s", name, offset, e)
            return ()
        self._offset = offset + 1
        self._state = None
        record = records.decode(name, parsed)
        if record is None:
            log.warning("The config topic's record '%.200s' at offset %d makes no sense and is skipped", name, offset)
            return ()
        self._note_key(record, key, value)
        return self._fold(record)

    def _note_key(self, record: records.ConfigRecord, key: bytes, value: bytes | None) -> None:
        match record:
            case records.SessionKeyRecord() | records.LoggerRecord() | records.OffsetsTopicRecord():
                return
            case records.TaskRecord(id=id) | records.TaskRestartRecord(id=id):
                connector = id.connector
            case _:
                connector = record.connector
        if value is not None:
            self._live_keys.setdefault(connector, set()).add(key)
        elif keys := self._live_keys.get(connector):
            keys.discard(key)
            if not keys:
                del self._live_keys[connector]

    @singledispatchmethod
    def _fold(self, record: records.ConfigRecord) -> _Updates:
        raise TypeError(f"unknown record {record!r}")

    @_fold.register
    def _(self, record: records.ConnectorRecord) -> _Updates:
        name = record.connector
        self._restart_counts = without_connector(self._restart_counts, name)
        if record.config is None:
            self._remove(name)
            return (ConnectorRemoved(name),)
        self._connectors[name] = record.config
        self._target_states.setdefault(name, TargetState.STARTED)
        return (ConnectorUpdated(name),)

    def _remove(self, name: str) -> None:
        for by_name in (self._connectors, self._task_counts, self._task_config_offsets, self._deferred):
            by_name.pop(name, None)
        for task in [task for task in self._task_configs if task.connector == name]:
            del self._task_configs[task]
        self._inconsistent.discard(name)
        self._pending_fencing.discard(name)

    @_fold.register
    def _(self, record: records.TaskRecord) -> _Updates:
        if record.config is not None:
            self._deferred.setdefault(record.id.connector, {})[record.id] = record.config
        return ()

    @_fold.register
    def _(self, record: records.CommitRecord) -> _Updates:
        """Put the committed task configs in force.

        Compaction can have removed some of them: then the connector is inconsistent until it is configured again
        (KAFKA-17719). Those of a connector that is not there are what compaction left of a removed one: they must not
        come back with the next of its name (KAFKA-16838).
        """
        name, count = record.connector, record.tasks
        if name not in self._connectors:
            self._remove(name)
            return ()
        if count is None:
            return ()
        deferred = self._deferred.get(name, {})
        if all(ConnectorTaskId(name, n) in deferred for n in range(count)):
            self._task_configs.update(deferred)
            self._task_config_offsets[name] = self._offset - 1
            self._inconsistent.discard(name)
        else:
            self._inconsistent.add(name)
        self._deferred[name] = {}
        self._task_counts[name] = count
        self._pending_fencing.add(name)
        return (TasksUpdated(name),)

    @_fold.register
    def _(self, record: records.TargetStateRecord) -> _Updates:
        name = record.connector
        if record.state is None:
            self._target_states.pop(name, None)
            if name in self._connectors:
                self._target_states[name] = TargetState.STARTED
            return ()
        changed = self._target_states.get(name) is not record.state
        self._target_states[name] = record.state
        if changed:
            self._restart_counts = without_connector(self._restart_counts, name)
        # A creation writes the state before the configuration: there is nothing yet that could change.
        return (TargetStateChanged(name),) if changed and name in self._connectors else ()

    @_fold.register
    def _(self, record: records.TaskCountRecord) -> _Updates:
        """Note the count; a tombstone removes nothing: former producers still have to be fenced (invariant 6)."""
        if record.tasks is not None:
            self._task_count_records[record.connector] = record.tasks
            self._pending_fencing.discard(record.connector)
        return ()

    @_fold.register
    def _(self, record: records.SessionKeyRecord) -> _Updates:
        self._session_key = record.key
        return (SessionKeyUpdated(record.key),)

    @_fold.register
    def _(self, record: records.RestartRecord) -> _Updates:
        name, tasks = record.connector, record.include_tasks
        self._restart_counts = with_restart(self._restart_counts, name, record.count, tasks=tasks)
        return (RestartRequested(name, record.only_failed, tasks, record.count),)

    @_fold.register
    def _(self, record: records.TaskRestartRecord) -> _Updates:
        self._restart_counts = with_restart(self._restart_counts, record.id, record.count)
        return (TaskRestartRequested(record.id, record.count),)

    @_fold.register
    def _(self, record: records.RequestRemovedRecord) -> _Updates:
        return ()

    @_fold.register
    def _(self, record: records.RemovedOffsetsRecord) -> _Updates:
        if record.config is None:
            self._removed_offsets.pop(record.connector, None)
        else:
            self._removed_offsets[record.connector] = RemovedOffsets(record.config, record.producers)
        return ()

    @_fold.register
    def _(self, record: records.OffsetsTopicRecord) -> _Updates:
        self._offsets_topic = record.topic
        return ()

    @_fold.register
    def _(self, record: records.LoggerRecord) -> _Updates:
        return (LoggerLevelChanged(record.logger, record.level),)
