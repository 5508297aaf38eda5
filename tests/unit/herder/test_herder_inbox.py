# SPDX-License-Identifier: Apache-2.0
"""Where events wait for the herder."""

from __future__ import annotations

import threading
import time

from headrace.herder.core.herder_events import ClaimDue, ConnectorStarted, HerderEvent
from headrace.herder.engine.herder_inbox import HerderInbox


def test_events_come_in_order_and_all_at_once() -> None:
    inbox = HerderInbox(time.monotonic)
    inbox.post(ConnectorStarted("a"))
    inbox.post(ConnectorStarted("b"))
    assert inbox.take() == [ConnectorStarted("a"), ConnectorStarted("b")]


def test_an_event_wakes_the_waiting_thread() -> None:
    inbox = HerderInbox(time.monotonic)
    taken: list[HerderEvent] = []
    thread = threading.Thread(target=lambda: taken.extend(inbox.take()))
    thread.start()
    inbox.post(ClaimDue())
    thread.join(5)
    assert taken == [ClaimDue()]


def test_later_events_come_when_their_time_has_come() -> None:
    now = [0.0]
    inbox = HerderInbox(lambda: now[0])
    inbox.post_later(2.0, ConnectorStarted("second"))
    inbox.post_later(1.0, ConnectorStarted("first"))
    inbox.post(ConnectorStarted("now"))
    assert inbox.take() == [ConnectorStarted("now")]
    now[0] = 2.0
    assert inbox.take() == [ConnectorStarted("first"), ConnectorStarted("second")]


def test_a_thread_that_waits_wakes_up_for_a_later_event() -> None:
    inbox = HerderInbox(time.monotonic)
    inbox.post_later(0.02, ClaimDue())
    assert inbox.take() == [ClaimDue()]
