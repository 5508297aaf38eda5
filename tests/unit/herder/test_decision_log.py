# SPDX-License-Identifier: Apache-2.0
"""What a herder decides is in its log, without the configurations that it decides about."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutConnector
from headrace.herder.core.herder_actions import HerderAction
from headrace.herder.engine.audited_actions import log, log_decision
from headrace.model.ids import ConnectorTaskId


def logged(caplog: pytest.LogCaptureFixture, event: events.HerderEvent, *decided: HerderAction) -> Sequence[str]:
    caplog.clear()
    caplog.set_level(logging.DEBUG, log.name)
    log_decision(event, decided)
    return caplog.messages


def test_a_decision_is_one_line_with_names_and_no_secrets(caplog: pytest.LogCaptureFixture) -> None:
    request = events.WriteRequested(PutConnector(7, "c", {"password": "secret"}, None, True))
    start = [actions.FailTask(ConnectorTaskId("c", n), "its password is secret") for n in range(12)]
    [line] = logged(caplog, request, *start, actions.Leave(), actions.Leave())
    assert line.startswith("WriteRequested(PutConnector(name=c)): FailTask(id=c-0); FailTask(id=c-1); ")
    assert line.endswith("FailTask(id=c-9); and 3 more")
    assert "secret" not in line
    assert logged(caplog, events.RejoinDue(3), actions.Leave(), actions.Leave()) == [
        "RejoinDue(generation=3): 2 times Leave"
    ]


def test_what_has_no_consequences_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, events.RejoinDue(3)) == []
