# SPDX-License-Identifier: Apache-2.0
"""Whatever lies in an internal topic: it is read or passed over, and what follows it is read."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import ConnectorStatus, State, TaskStatus
from headrace.storage import config_records, json_bytes, offset_codec, status_records
from headrace.storage.config_log import ConfigLog
from headrace.storage.offset_backing_store import OffsetTable
from headrace.storage.status_log import StatusLog
from tests.support.odd_records import KEYS, OFFSET_KEYS, VALUES
from tests.tiers import examples

_records = st.lists(st.tuples(KEYS, VALUES), max_size=12)
DEEP = tuple(b'{"a":' * levels + b"1" + b"}" * levels for levels in range(250, 500, 25))
"""Such as Python's stack may hold to read, and not to write."""


@settings(max_examples=examples(100), deadline=None)
@given(_records)
@example([(b"target-state-a", b'{"state":["STARTED"]}'), (b"task-a-" + b"9" * 5000, b'{"properties":{}}')])
@example([(b"connector-a", b"[" * 100_000), (b"connector-b", b'{"properties":{"a":"\\ud800"}}')])
def test_the_config_topic(records: list[tuple[bytes | None, bytes | None]]) -> None:
    log = ConfigLog()
    for offset, (key, value) in enumerate(records):
        try:
            log.apply(key, value, offset)
        except DataError:
            continue
        finally:
            state = log.state
            assert all(state.tasks(name) is not None for name in state.connectors())
    good = [
        *config_records.encode(config_records.ConnectorRecord("good", {"name": "good"})),
        *config_records.encode(config_records.TaskRecord(ConnectorTaskId("good", 0), {"i": "0"})),
        *config_records.encode(config_records.CommitRecord("good", 1)),
        *config_records.encode(config_records.TaskCountRecord("good", 1)),
    ]
    for key, value in good:
        log.apply(key, value, log.state.offset)
    state = log.state
    assert state.all_task_configs("good") == ({"i": "0"},) and "good" not in state.pending_fencing


@settings(max_examples=examples(100), deadline=None)
@given(_records)
@example([(b"status-connector-a", b'{"state":["RUNNING"],"worker_id":"w","generation":1}')])
@example([(b"status-task-a-" + b"9" * 5000, b"{}"), (b"status-connector-a", b"[" * 100_000)])
def test_the_status_topic(records: list[tuple[bytes | None, bytes | None]]) -> None:
    log = StatusLog()
    for key, value in records:
        log.apply(key, value)
    task = ConnectorTaskId("good", 0)
    for status in (ConnectorStatus("good", State.RUNNING, "w", 1), TaskStatus(task, State.RUNNING, "w", 1)):
        log.apply(*status_records.encode(status))
    assert log.connectors["good"].state is log.tasks["good"][0].state is State.RUNNING
    for expected in (*log.connectors.values(), *(status for tasks in log.tasks.values() for status in tasks.values())):
        status_records.encode(expected)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(OFFSET_KEYS, VALUES), max_size=12))
@example([(b'["good",{"p":%b}]' % deep, value) for deep in DEEP for value in (b'{"o":1}', None)])
@example([(b"[" * 100_000, b"{}"), (b'["good",{"p":"\\ud800"}]', b"{}"), (b'["good",{"p":NaN}]', b"{}")])
def test_the_offsets_topic(records: list[tuple[bytes | None, bytes | None]]) -> None:
    table = OffsetTable()
    for key, value in records:
        table.apply(key, value)
    for connector in ("a", "good"):
        try:
            table.offsets_of(connector)
        except DataError:
            continue
    key = offset_codec.encode_key("other", {"file": "x"})
    table.apply(key, b'{"position":7}')
    assert table.offsets_of("other") == {b'{"file":"x"}': {"position": 7}}


@settings(max_examples=examples(100), deadline=None)
@given(VALUES)
@example(DEEP[0])
@example(DEEP[-1])
def test_what_is_read_can_be_written(data: bytes | None) -> None:
    try:
        value = json_bytes.loads(data or b"")
    except DataError:
        return
    written = json_bytes.dumps(value)
    assert json_bytes.dumps(json_bytes.loads(written)) == written
