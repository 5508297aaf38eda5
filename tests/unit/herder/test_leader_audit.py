# SPDX-License-Identifier: Apache-2.0
"""The lines of what the leader writes of its own, and of its rounds of fencing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from headrace.api.errors import RetriableError
from headrace.config.session_key_config import SessionKeyRules
from headrace.herder.core.config_writes import (
    PutAutomaticRestart,
    PutOffsetsDeleted,
    PutSessionKey,
    PutTargetState,
    PutTaskConfigs,
    PutTaskCount,
    WriteRequest,
)
from headrace.herder.engine.audited_actions import LeaderAudit
from headrace.logs.audit import AUDIT
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import ClusterConfigState, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState

BEFORE = ClusterConfigState(offset=5, connector_configs={"c": {}}, task_counts={"c": 1})
OWN = "audit who=leader worker=w:8083 what="


@pytest.fixture(autouse=True)
def on(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, AUDIT):
        yield


@pytest.mark.parametrize(
    ("write", "line"),
    [
        (
            PutTaskConfigs("c", [{"password": "swordfish"}, {}]),
            f'{OWN}"task configs of connector c" connector=c change="1 task → 2 tasks" result=done',
        ),
        (
            PutSessionKey(None, SessionKeyRules()),
            f'{OWN}"session key" change="a new key of 32 bytes for HmacSHA256, the first one" result=done',
        ),
        (
            PutSessionKey(SessionKey("swordfish", "HmacSHA256", 0), SessionKeyRules(size=64)),
            f'{OWN}"session key" change="a new key of 64 bytes for HmacSHA256 in place of the one of '
            '1970-01-01T00:00:00.000+00:00" result=done',
        ),
        (
            PutSessionKey(SessionKey("swordfish", "HmacSHA256", 10**300), SessionKeyRules()),
            f'{OWN}"session key" change="a new key of 32 bytes for HmacSHA256 in place of the one of {10**300} ms" '
            "result=done",
        ),
        (PutOffsetsDeleted("c"), f'{OWN}"offsets of the deleted connector c" connector=c change=deleted result=done'),
        (
            PutAutomaticRestart(ConnectorTaskId("c", 0), RestartCount(3, 0)),
            f'{OWN}"restart of task c-0" connector=c change="automatic, 3 in a row" result=done',
        ),
        (
            PutAutomaticRestart("c", RestartCount(1, 0)),
            f'{OWN}"restart of connector c" connector=c change="automatic, 1 in a row" result=done',
        ),
        (PutTargetState(1, "c", TargetState.PAUSED), None),
        (PutTaskCount("c", 5, 1), None),
    ],
)
def test_writes_of_its_own(caplog: pytest.LogCaptureFixture, write: WriteRequest, line: str | None) -> None:
    LeaderAudit("w:8083").wrote(write, BEFORE)
    assert caplog.messages == ([] if line is None else [line])


def test_a_write_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    LeaderAudit("w:8083").wrote(PutTaskConfigs("new", []), BEFORE, RetriableError("no broker"))
    what = '"task configs of connector new" connector=new change="0 tasks → 0 tasks"'
    assert caplog.messages == [f'{OWN}{what} result=failed reason="no broker"']


def test_rounds_of_fencing(caplog: pytest.LogCaptureFixture) -> None:
    leader = LeaderAudit("w:8083")
    with leader.fencing("c", 2):
        pass
    with pytest.raises(RetriableError), leader.fencing("c", 500):
        raise RetriableError("it takes too long")
    assert [re.sub(r"\d+\.\d\d s", "T", line) for line in caplog.messages] == [
        f'{OWN}"round of fencing of connector c" connector=c change="2 producers (c-0, c-1) in T" result=done',
        f'{OWN}"round of fencing of connector c" connector=c change="500 producers (c-0..c-499) in T" result=failed '
        'reason="it takes too long"',
    ]
