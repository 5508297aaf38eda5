# SPDX-License-Identifier: Apache-2.0
"""Group membership against a real broker."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from headrace.kafka.embedded_broker import EmbeddedBroker
from headrace.kafka.group_membership import GroupMember, GroupSettings

pytestmark = pytest.mark.integration


class Worker:
    """A listener that notes what it hears; each member is assigned its own metadata, reversed."""

    def __init__(self, bootstrap: str, group: str, metadata: bytes = b"abc", session_timeout: float = 6.0) -> None:
        self.heard: queue.Queue[tuple[object, ...]] = queue.Queue()
        self.metadata = metadata
        self.ready = True
        settings = GroupSettings(group, session_timeout, session_timeout / 6, 10.0)
        self.member = GroupMember({"bootstrap_servers": bootstrap}, settings, self)

    def ready_to_join(self) -> bool:
        return self.ready

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        return [("sessioned", self.metadata)]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {member: metadata[::-1] for member, metadata in members.items()}

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self.heard.put(("assigned", generation, protocol, assignment, time.monotonic()))

    def on_lost(self, reason: str) -> None:
        self.heard.put(("lost", reason))

    def next(self, kind: str, timeout: float = 30.0) -> tuple[object, ...]:
        event = self.heard.get(timeout=timeout)
        assert event[0] == kind, event
        return event


Join = Callable[..., Worker]


@pytest.fixture
def own_broker() -> Iterator[EmbeddedBroker]:
    """A broker of this test's own, to be killed and started again."""
    with EmbeddedBroker(port=0) as own:
        yield own


@pytest.fixture
def join() -> Iterator[Join]:
    members: list[Worker] = []

    def make(bootstrap: str, group: str | None = None, **settings: object) -> Worker:
        worker = Worker(bootstrap, group or f"group-{uuid.uuid4()}", **settings)  # type: ignore[arg-type]
        members.append(worker)
        worker.member.start()
        return worker

    yield make
    for worker in members:
        worker.member.leave(2.0)


def test_a_group_of_one_rejoins_in_milliseconds(broker: EmbeddedBroker, join: Join) -> None:
    worker = join(broker.bootstrap_servers)
    _, first, protocol, assignment, _ = worker.next("assigned")
    assert (protocol, assignment) == ("sessioned", b"cba")
    took = []
    for expected in range(int(str(first)) + 1, int(str(first)) + 11):
        begun = time.monotonic()
        worker.metadata = str(expected).encode()
        worker.member.request_rejoin()
        _, generation, _, assignment, at = worker.next("assigned")
        assert (generation, assignment) == (expected, str(expected).encode()[::-1])
        took.append(float(str(at)) - begun)
    assert sorted(took)[5] < 0.1, took


def test_a_member_that_is_not_ready_keeps_its_session_and_joins_when_it_is(broker: EmbeddedBroker, join: Join) -> None:
    worker = join(broker.bootstrap_servers)
    worker.next("assigned")
    worker.ready = False
    worker.member.request_rejoin()
    with pytest.raises(queue.Empty):
        worker.next("assigned", timeout=2.0)
    assert worker.member.in_session()
    worker.ready = True
    worker.next("assigned")


def test_members_rebalance_when_one_comes_and_when_one_leaves(broker: EmbeddedBroker, join: Join) -> None:
    group = f"group-{uuid.uuid4()}"
    first = join(broker.bootstrap_servers, group)
    first.next("assigned")
    second = join(broker.bootstrap_servers, group, metadata=b"xyz")
    assert second.next("assigned")[1] == first.next("assigned")[1]
    second.member.leave(5.0)
    first.next("assigned")
    assert first.member.in_session() and not second.member.in_session()


def test_a_broker_that_comes_late_is_waited_for(own_broker: EmbeddedBroker, join: Join) -> None:
    own_broker.stop()
    worker = join(own_broker.bootstrap_servers)
    with pytest.raises(queue.Empty):
        worker.next("assigned", timeout=1.0)
    own_broker.start()
    worker.next("assigned")


def test_a_broker_bounce_within_the_session_loses_nothing(own_broker: EmbeddedBroker, join: Join) -> None:
    worker = join(own_broker.bootstrap_servers, session_timeout=30.0)
    worker.next("assigned")
    own_broker.kill()
    own_broker.start()
    worker.member.request_rejoin()
    worker.next("assigned")
    assert worker.member.in_session()


def test_a_session_that_the_broker_cannot_renew_is_given_up_and_regained(
    own_broker: EmbeddedBroker, join: Join
) -> None:
    worker = join(own_broker.bootstrap_servers, session_timeout=6.0)
    worker.next("assigned")
    own_broker.kill()
    worker.next("lost", timeout=10.0)
    assert not worker.member.in_session()
    own_broker.start()
    worker.next("assigned")
    assert worker.member.in_session()
