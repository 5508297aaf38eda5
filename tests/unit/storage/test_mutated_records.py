# SPDX-License-Identifier: Apache-2.0
"""Records of workers in which bits and members have changed: they are read or passed over, and what follows is read."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.errors import DataError
from headrace.model.state import ConnectorStatus, State
from headrace.storage import config_records, offset_codec, status_records
from headrace.storage.config_log import ConfigLog
from headrace.storage.offset_backing_store import OffsetTable
from headrace.storage.status_log import StatusLog
from tests.support.mutated_records import CASES, CONFIG_RECORDS, OFFSET_RECORDS, STATUS_RECORDS, mutated

_RUN = 10
many = settings(max_examples=max(CASES // _RUN, 1), deadline=None)
randoms = st.randoms(use_true_random=False)


@pytest.fixture(autouse=True)
def without_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@many
@given(st.integers(0, 2**32))
def test_the_config_topic(seed: int) -> None:
    random, log = Random(seed), ConfigLog()
    for offset in range(_RUN):
        try:
            log.apply(*mutated(random, CONFIG_RECORDS), offset)
        except DataError:
            continue
    state = log.state
    for name in state.connectors():
        state.tasks(name), state.all_task_configs(name), state.target_state(name)
    for key, value in (
        *config_records.encode(config_records.ConnectorRecord("good", {"name": "good"})),
        *config_records.encode(config_records.CommitRecord("good", 0)),
    ):
        log.apply(key, value, _RUN)
    assert log.state.connector_config("good") == {"name": "good"} and log.state.offset == _RUN + 1


@many
@given(st.integers(0, 2**32))
def test_the_status_topic(seed: int) -> None:
    random, log = Random(seed), StatusLog()
    for _ in range(_RUN):
        log.apply(*mutated(random, STATUS_RECORDS))
    for status in log.all():
        status_records.encode(status)
    log.apply(*status_records.encode(ConnectorStatus("good", State.RUNNING, "w", 1)))
    assert log.connectors["good"].state is State.RUNNING


@many
@given(st.integers(0, 2**32))
def test_the_offsets_topic(seed: int) -> None:
    random, table = Random(seed), OffsetTable()
    for _ in range(_RUN):
        table.apply(*mutated(random, OFFSET_RECORDS))
    try:
        table.offsets_of("victim")
    except DataError as error:
        assert str(error)
    table.apply(offset_codec.encode_key("good", {"p": 1}), b'{"o":1}')
    assert table.offsets_of("good") == {b'{"p":1}': {"o": 1}}
