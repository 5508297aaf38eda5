# SPDX-License-Identifier: Apache-2.0
"""The status topic folded into the newest statuses. Pure: no I/O, no clock, no threads."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TypeVar

from headrace.api.errors import DataError
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus, TopicStatus
from headrace.storage import json_bytes
from headrace.storage import status_records as records

log = logging.getLogger(__name__)
_K = TypeVar("_K")
_V = TypeVar("_V")


class StatusLog:
    """The latest statuses of connectors, tasks and their topics. Used by one thread at a time."""

    def __init__(self) -> None:
        self.connectors: dict[str, ConnectorStatus] = {}
        self.tasks: dict[str, dict[int, TaskStatus]] = {}
        self.topics: dict[str, dict[str, TopicStatus]] = {}

    def apply(self, key: bytes | None, value: bytes | None, written_ms: int | None = None) -> records.StatusKey | None:
        """Take in one record, and return its key; invalid ones are skipped with a warning."""
        name = key.decode(errors="replace") if key is not None else ""
        about = records.decode_key(name)
        if about is None:
            log.warning("The status topic's record '%.200s' is not known and is skipped", name)
        elif value is None:
            self._remove(about)
        else:
            self._read(name, about, value, written_ms)
        return about

    def keys(self) -> tuple[records.StatusKey, ...]:
        """Return the keys of all statuses."""
        tasks = (ConnectorTaskId(name, task) for name, tasks in self.tasks.items() for task in tasks)
        topics = ((name, topic) for name, topics in self.topics.items() for topic in topics)
        return (*self.connectors, *tasks, *topics)

    def all(self) -> list[records.Status]:
        """Return all newest statuses."""
        tasks = (status for tasks in self.tasks.values() for status in tasks.values())
        return [
            *self.connectors.values(),
            *tasks,
            *(each for topics in self.topics.values() for each in topics.values()),
        ]

    def contains(self, key: records.StatusKey) -> bool:
        """Return true if there is a status about ``key``."""
        if isinstance(key, str):
            return key in self.connectors
        if isinstance(key, ConnectorTaskId):
            return key.task in self.tasks.get(key.connector, {})
        return key[1] in self.topics.get(key[0], {})

    def _read(self, name: str, about: records.StatusKey, value: bytes, written_ms: int | None) -> None:
        try:
            status = records.decode_status(about, json_bytes.loads(value))
        except DataError:
            status = None
        match status:
            case None:
                log.warning("The status topic's record '%.200s' makes no sense and is skipped", name)
            case ConnectorStatus():
                if not _is_stale(status, self.connectors.get(status.connector)):
                    self.connectors[status.connector] = replace(status, written_ms=written_ms)
            case TaskStatus():
                tasks = self.tasks.setdefault(status.id.connector, {})
                if not _is_stale(status, tasks.get(status.id.task)):
                    tasks[status.id.task] = replace(status, written_ms=written_ms)
            case TopicStatus():
                assert isinstance(about, tuple)
                connector, topic = about
                self.topics.setdefault(connector, {})[str(topic)] = status

    def _remove(self, about: records.StatusKey) -> None:
        """Remove a status, but not those of a connector's tasks, as Java does.

        Records lie in several partitions and are read in any order: statuses of the tasks of a connector created again
        may have been read before.
        """
        if isinstance(about, str):
            self.connectors.pop(about, None)
        elif isinstance(about, ConnectorTaskId):
            _remove_member(self.tasks, about.connector, about.task)
        else:
            _remove_member(self.topics, *about)


def _is_stale(new: ConnectorStatus | TaskStatus, old: ConnectorStatus | TaskStatus | None) -> bool:
    """Return true for the status of a worker that was slow to let go and has a successor (KAFKA-12525).

    A worker that lets go in the generation in which it ran the task is not slow. Java passes over that as well, and
    shows the tasks of a worker that has left as RUNNING; and it does not compare the generations of connectors at all.
    A failure that comes late is of what runs elsewhere by now, too, where nothing would replace it. Java shows it.
    """
    if old is None or new.state not in (State.UNASSIGNED, State.FAILED):
        return False
    if new.state is State.FAILED:
        return new.generation < old.generation and new.worker_id != old.worker_id
    return new.generation < old.generation or (new.generation == old.generation and new.worker_id != old.worker_id)


def _remove_member(table: dict[str, dict[_K, _V]], name: str, member: _K) -> None:
    members = table.get(name, {})
    members.pop(member, None)
    if not members:
        table.pop(name, None)
