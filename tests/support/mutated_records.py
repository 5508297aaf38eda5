# SPDX-License-Identifier: Apache-2.0
"""Records of the internal topics as workers write them, and what becomes of them when bits and members change."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from random import Random
from typing import Any

from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import OffsetsTopic, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TargetState, TaskStatus, TopicStatus
from headrace.storage import config_records, offset_codec, status_records

Record = tuple[bytes, bytes | None]

CASES = int(os.environ.get("HEADRACE_MUTATIONS", "150"))
"""Mutated records of each kind of topic in a test of a fold; `make mutations` has 10,000."""
NAME, TASK = "victim", ConnectorTaskId("victim", 0)
_CONFIG = {"name": NAME, "connector.class": "no_such_module:NoSuchConnector", "tasks.max": "2", "topic": "t", "n": None}

_KEY = SessionKey("p4QVcoJLx+t2n0wY7aAbPg5EEjma3gAYfpfv6DYsbdQ=", "HmacSHA256", 1795229818028)
_RECORDS: Sequence[config_records.ConfigRecord] = (
    config_records.ConnectorRecord(NAME, _CONFIG),
    config_records.TaskRecord(TASK, {"task.class": "no_such_module:NoSuchTask", "topic": "t"}),
    config_records.CommitRecord(NAME, 1),
    config_records.TargetStateRecord(NAME, TargetState.STOPPED),
    config_records.TargetStateRecord(NAME, TargetState.STARTED),
    config_records.TaskCountRecord(NAME, 1),
    config_records.SessionKeyRecord(_KEY),
    config_records.RestartRecord(NAME, only_failed=True, include_tasks=True),
    config_records.TaskRestartRecord(TASK),
    config_records.TaskRestartRecord(TASK, RestartCount(3, 1795229818028)),
    config_records.RemovedOffsetsRecord("removed", _CONFIG, 1),
    config_records.LoggerRecord("poison.logger", "DEBUG"),
    config_records.OffsetsTopicRecord(OffsetsTopic("elsewhere", "fMVXL8JZSqaCfJ92BPavlA")),
    config_records.ConnectorRecord(NAME, None),
)
CONFIG_RECORDS: Sequence[Record] = tuple(pair for record in _RECORDS for pair in config_records.encode(record))
STATUS_RECORDS: Sequence[Record] = (
    status_records.encode(ConnectorStatus(NAME, State.RUNNING, "w:8083", 3)),
    status_records.encode(TaskStatus(TASK, State.FAILED, "w:8083", 3, "java.lang.Exception: a\n\tb", "4.3.1")),
    status_records.encode(TopicStatus("t", NAME, 0, 1795229818028)),
    status_records.encode(ConnectorStatus(NAME, State.DESTROYED, "w:8083", 3)),
)
OFFSET_RECORDS: Sequence[Record] = (
    (offset_codec.encode_key(NAME, {"file": "x"}), b'{"position":7}'),
    (offset_codec.encode_key(NAME, {"table": "ä", "shard": 1.5}), b'{"id":12345678901234567890,"at":null}'),
    offset_codec.migration_record(NAME),
    (offset_codec.encode_key(NAME, {"file": "x"}), None),
)

_WORDS = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b'"', b"{", b"}", b"[", b"]", b"null", b"NaN"),
    *(b"1e400", b"-0", b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b"\n", b"-", b"--", b"-1", b"x" * 70_000),
    b"\xf0\x9f\x92\xa9",
)
_ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 10**400, 1.5, float("nan"), float("inf"), "", "\ud800", "\x00", "x" * 70_000),
    *([], {}, ["x"], {"a": {"b": []}}, [[[[[[]]]]]], "RUNNING", "PAUSED", "!!"),
)


def mutated(random: Random, records: Sequence[Record]) -> Record:
    """One of ``records`` with one to four changes to its key or its value."""
    key, value = random.choice(records)
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.25:
            key = _changed(random, key, records)
        elif value is None or random.random() < 0.05:
            value = random.choice(records)[1]
        else:
            value = _changed(random, value, records)
    return key[:100_000], value if value is None else value[:500_000]


def _changed(random: Random, data: bytes, records: Sequence[Record]) -> bytes:
    if random.random() < 0.5:
        try:
            return json.dumps(_member_changed(random, json.loads(data))).encode()
        except (ValueError, RecursionError):
            pass  # it is no JSON any more, or a key that never was
    start, end = sorted(random.randint(0, len(data)) for _ in range(2))
    before, between, after = data[:start], data[start:end], data[end:]
    match random.choice(("bit", "cut", "word", "repeat", "splice")):
        case "bit":
            return before + between + bytes([(after or b"\0")[0] ^ (1 << random.randrange(8))]) + after[1:]
        case "cut":
            return before + after
        case "word":
            return before + random.choice(_WORDS) + data[start + random.randint(0, 3) :]
        case "repeat":
            return before + between[:50] * random.choice((2, 3, 1000)) + after
        case _:
            other = random.choice(random.choice(records)) or b""
            return before + other[random.randint(0, len(other)) :]


def _member_changed(random: Random, value: Any) -> Any:
    """``value`` with a member at some depth that is another, is gone, is there twice, or has another name."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.2:
        return random.choice(_ODD)
    if isinstance(value, list):
        at = random.randrange(len(value))
        return [*value[:at], _member_changed(random, value[at]), *value[at + random.randint(0, 1) :]]
    name, how = random.choice(list(value)), random.random()
    if how < 0.15:
        return {key: member for key, member in value.items() if key != name}
    if how < 0.3:
        return {
            random.choice(("", "\ud800", "state", "key", name)) if key == name else key: value[key] for key in value
        }
    return {**value, name: _member_changed(random, value[name])}
