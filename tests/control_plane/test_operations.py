# SPDX-License-Identifier: Apache-2.0
"""Health checks (KIP-1017) and levels of loggers for the whole cluster (KIP-976), as transcripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import PutLoggerLevel

MakeStage = Callable[..., Any]
Golden = Callable[[Any], None]


def test_a_worker_is_healthy_while_it_is_one_of_the_group(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.hold(actions.Join)
    s.happen(events.HealthAsked(1))
    s.start()
    s.happen(events.HealthAsked(2))
    s.say("it has joined")
    s.happen(s.assign())
    s.happen(events.HealthAsked(3))
    s.say("it has lost its session, and comes back")
    s.happen(events.SessionLost())
    s.happen(events.HealthAsked(4))
    s.happen(s.assign())
    assert s.state.health_asked == ()
    golden(s)


def test_the_leader_writes_a_loggers_level(stage: MakeStage, golden: Golden) -> None:
    s = stage()
    s.start()
    s.request(PutLoggerLevel(1, "headrace.rest", "DEBUG"))
    s.say("another leader has taken over: the write is repeated if that was a mistake")
    s.hold(actions.Write)
    s.request(PutLoggerLevel(2, "root", "INFO"))
    s.release(actions.Write)
    s.happen(events.WriteFailed(s.state.leadership.writing[0], RuntimeError("fenced"), fenced=True))
    s.happen(events.ClaimDue())
    golden(s)


def test_a_follower_refuses_a_loggers_level(stage: MakeStage, golden: Golden) -> None:
    s = stage(leader="other")
    s.start()
    s.request(PutLoggerLevel(1, "headrace.rest", "DEBUG"))
    golden(s)
