# SPDX-License-Identifier: Apache-2.0
"""The bytes that Connect workers exchange through the group coordinator, versions 0, 1 and 2.

Version 0 is eager ("default"), 1 is incremental cooperative ("compatible", KIP-415), 2 is 1 with session keys
("sessioned", KIP-507). Java: ``ConnectProtocol``, ``IncrementalCooperativeConnectProtocol``.

Behind the last field, messages of headrace may name the worker's internal topics. Java's workers read no further than
that field, since later versions may append others.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from headrace.api.errors import ConnectError
from headrace.model.assignment import Assignment, AssignmentError, GroupTopics
from headrace.model.ids import ConnectorTaskId

_CONNECTOR_ENTRY = -1
"""In a list of task numbers: the connector itself instead of a task."""
_TOPICS = b"headrace-topics:"
"""Prefix of the topics' names behind the last field."""


class ConnectProtocol(Enum):
    """A group protocol: its name in JoinGroup, and its version in the bytes."""

    EAGER = ("default", 0)
    COMPATIBLE = ("compatible", 1)
    SESSIONED = ("sessioned", 2)

    def __init__(self, group_name: str, version: int) -> None:
        self.group_name = group_name
        self.version = version

    @classmethod
    def named(cls, group_name: str) -> ConnectProtocol:
        """Return the protocol that the coordinator chose. Raise ConnectError for a name that was never offered."""
        for protocol in cls:
            if protocol.group_name == group_name:
                return protocol
        raise ConnectError(f"Unknown Connect group protocol '{group_name}'")

    @classmethod
    def offered(cls, connect_protocol: str, minimum: str = "eager") -> tuple[ConnectProtocol, ...]:
        """Return the protocols to offer by ``connect.protocol`` and ``.minimum``, most preferred first.

        A group uses a protocol that all members offer; the coordinator refuses a member that shares none with it.
        """
        wanted, least = cls[connect_protocol.strip().upper()], cls[minimum.strip().upper()]
        return tuple(each for each in reversed(cls) if least.version <= each.version <= wanted.version)


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """A member's part of a join: its REST URL, its position in the config topic, and the work that it owns.

    ``topics`` are its internal topics; None if it does not name them.
    """

    url: str
    config_offset: int
    owned: Assignment | None = None
    topics: GroupTopics | None = None


def encode_metadata(metadata: MemberMetadata, protocol: ConnectProtocol) -> bytes:
    """Return a member's metadata for JoinGroup; version 0 has no field for the work that it owns."""
    head = _int16(protocol.version) + _string(metadata.url) + _int64(metadata.config_offset)
    if protocol is ConnectProtocol.EAGER:
        return head + _topics(metadata.topics)
    owned = None if metadata.owned is None else encode_assignment(metadata.owned, protocol)
    return head + _nullable_bytes(owned) + _topics(metadata.topics)


def decode_metadata(data: bytes) -> MemberMetadata:
    """Decode any version; of later ones the fields of version 0. Raise ConnectError if the bytes cannot be metadata."""
    reader = _Reader(data)
    version = reader.version()
    url, offset = reader.string(), reader.int64()
    owned = reader.nullable_bytes() if version in (1, 2) else None
    return MemberMetadata(url, offset, None if owned is None else decode_assignment(owned), reader.topics())


def encode_assignment(assignment: Assignment, protocol: ConnectProtocol) -> bytes:
    """Return a member's assignment for SyncGroup; version 0 has neither revocations nor a delay."""
    head = (
        _int16(protocol.version)
        + _int16(assignment.error)
        + _string(assignment.leader)
        + _string(assignment.leader_url)
        + _int64(assignment.config_offset)
        + _work(assignment.connectors, assignment.tasks)
    )
    if protocol is ConnectProtocol.EAGER:
        return head + _topics(assignment.topics)
    revoked = _work(assignment.revoked_connectors, assignment.revoked_tasks)
    return head + revoked + _int32(assignment.delay_ms) + _topics(assignment.topics)


def decode_assignment(data: bytes) -> Assignment:
    """Decode any version. Raise ConnectError if the bytes cannot be an assignment."""
    reader = _Reader(data)
    version = reader.version()
    error = reader.error()
    leader, leader_url, offset = reader.string(), reader.string(), reader.int64()
    connectors, tasks = reader.work()
    if version not in (1, 2):
        return Assignment(leader, leader_url, offset, connectors, tasks, error=error, topics=reader.topics())
    revoked_connectors, revoked_tasks = reader.work()
    delay = reader.int32()
    return Assignment(
        leader, leader_url, offset, connectors, tasks, revoked_connectors, revoked_tasks, delay, error, reader.topics()
    )


def _int16(value: int) -> bytes:
    return struct.pack(">h", value)


def _int32(value: int) -> bytes:
    return struct.pack(">i", value)


def _int64(value: int) -> bytes:
    return struct.pack(">q", value)


def _string(value: str) -> bytes:
    data = value.encode()
    return _int16(len(data)) + data


def _nullable_bytes(value: bytes | None) -> bytes:
    return _int32(-1) if value is None else _int32(len(value)) + value


def _topics(topics: GroupTopics | None) -> bytes:
    if topics is None:
        return b""
    return _TOPICS + _string(topics.config) + _string(topics.offsets) + _string(topics.status)


def _work(connectors: Sequence[str], tasks: Sequence[ConnectorTaskId]) -> bytes:
    numbers: dict[str, list[int]] = {name: [_CONNECTOR_ENTRY] for name in connectors}
    for task in tasks:
        numbers.setdefault(task.connector, []).append(task.task)
    out = [_int32(len(numbers))]
    for name, of_connector in numbers.items():
        out.append(_string(name) + struct.pack(f">i{len(of_connector)}i", len(of_connector), *of_connector))
    return b"".join(out)


class _Reader:
    """A reader of Kafka's primitive types from the front of some bytes; bytes behind the last field are ignored."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def version(self) -> int:
        version = self.int16()
        if version < 0:
            raise ConnectError(f"Unsupported version of the Connect group protocol: {version}")
        return version

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def int32s(self) -> tuple[int, ...]:
        """Read an array of them, with its size first; a negative size is that of an empty one."""
        size = max(0, self.int32())
        return struct.unpack(f">{size}i", self._take(4 * size))

    def int64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def string(self) -> str:
        data = self._take(self.int16())
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ConnectError(f"A text in the Connect group protocol is no UTF-8: {data[:100]!r}") from None

    def error(self) -> AssignmentError:
        code = self.int16()
        try:
            return AssignmentError(code)
        except ValueError:
            raise ConnectError(f"Unknown error in an assignment of the Connect group protocol: {code}") from None

    def topics(self) -> GroupTopics | None:
        """Return the topics behind the last field; None if nothing is there, or something else."""
        if self._data[self._at : self._at + len(_TOPICS)] != _TOPICS:
            return None
        self._at += len(_TOPICS)
        return GroupTopics(self.string(), self.string(), self.string())

    def nullable_bytes(self) -> bytes | None:
        size = self.int32()
        return None if size < 0 else self._take(size)

    def work(self) -> tuple[tuple[str, ...], tuple[ConnectorTaskId, ...]]:
        connectors: list[str] = []
        tasks: list[ConnectorTaskId] = []
        for _ in range(self.int32()):
            name = self.string()
            for number in self.int32s():
                if number == _CONNECTOR_ENTRY:
                    connectors.append(name)
                else:
                    tasks.append(ConnectorTaskId(name, number))
        return tuple(connectors), tuple(tasks)

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ConnectError(f"Truncated data in the Connect group protocol at byte {self._at} of {len(self._data)}")
        data = self._data[self._at : end]
        self._at = end
        return data
