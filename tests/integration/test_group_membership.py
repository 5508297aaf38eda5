# SPDX-License-Identifier: Apache-2.0
"""Group membership against a real broker."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.kafka.group.group_membership import GroupMember, GroupSettings
from tests.support.polling import wait_for


class Worker:
    """A listener that notes what it hears; each member is assigned its own metadata, reversed."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        metadata: bytes = b"abc",
        session_timeout: float = 6.0,
        heartbeat_interval: float = 1.0,
    ) -> None:
        self.heard: queue.Queue[tuple[object, ...]] = queue.Queue()
        self.metadata = metadata
        self.ready = True
        settings = GroupSettings(group, session_timeout, heartbeat_interval, 10.0)
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


@pytest.fixture(scope="module")
def mortal_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as own:
        yield own


@pytest.fixture
def own_broker(mortal_broker: EmbeddedBroker) -> EmbeddedBroker:
    """A broker of this file's own, to be killed and started again; it runs, whatever the test before has left."""
    mortal_broker.start()
    return mortal_broker


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


def test_a_member_has_not_failed_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health may be asked for at that very moment, by another thread."""
    worker, begin, reported = Worker("127.0.0.1:1", "group"), threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        reported.append(worker.member.failure())
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    worker.member.start()
    monkeypatch.undo()
    assert reported and {*reported, worker.member.failure()} == {None}
    worker.member.leave(0.1)


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


def test_a_group_that_outgrows_one_record(
    own_broker: EmbeddedBroker, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer to the leader is larger than kafka-python reads by default, the record than a broker takes."""
    join(own_broker.bootstrap_servers).next("assigned")  # makes the topic
    worker = join(own_broker.bootstrap_servers, metadata=b"a" * 1_020_000 + b"b")
    wait_for(
        lambda: "increase max.message.bytes of the topic __consumer_offsets" in caplog.text, 30, lambda: caplog.text
    )
    larger = ConfigEntry("max.message.bytes", "10485760", incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ConfigResource.Type.TOPIC, "__consumer_offsets", incremental_configs=[larger])
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap_servers})
    admin.incremental_alter_configs([topic])[topic].result(30)
    assert worker.next("assigned")[3] == b"b" + b"a" * 1_020_000


def test_a_coordinator_that_is_gone_is_said_and_looked_for(own_broker: EmbeddedBroker, join: Join) -> None:
    worker = join(own_broker.bootstrap_servers)
    worker.next("assigned")
    own_broker.kill()
    worker.next("lost")
    wait_for(lambda: "name no coordinator" in (worker.member.trouble() or ""), 30, lambda: str(worker.member.trouble()))
    own_broker.start()
    worker.next("assigned", 60)
    wait_for(lambda: worker.member.trouble() is None, 10, lambda: str(worker.member.trouble()))


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


def test_a_rebalance_right_after_another_is_noticed_at_once(broker: EmbeddedBroker, join: Join) -> None:
    group = f"group-{uuid.uuid4()}"
    settings = {"session_timeout": 30.0, "heartbeat_interval": 10.0}
    first = join(broker.bootstrap_servers, group, **settings)
    first.next("assigned")
    second = join(broker.bootstrap_servers, group, **settings)
    second.next("assigned")
    first.next("assigned")
    began = time.monotonic()
    first.member.request_rejoin()
    second.next("assigned")
    assert time.monotonic() - began < 5


def test_members_rebalance_when_one_comes_and_when_one_leaves(broker: EmbeddedBroker, join: Join) -> None:
    group = f"group-{uuid.uuid4()}"
    first = join(broker.bootstrap_servers, group)
    first.next("assigned")
    second = join(broker.bootstrap_servers, group, metadata=b"xyz")
    assert second.next("assigned")[1] == first.next("assigned")[1]
    second.member.leave(5.0)
    first.next("assigned")
    assert first.member.in_session() and not second.member.in_session()


def test_a_member_that_leaves_for_some_time_rejoins_automatically(broker: EmbeddedBroker, join: Join) -> None:
    group = f"group-{uuid.uuid4()}"
    first = join(broker.bootstrap_servers, group)
    first.next("assigned")
    second = join(broker.bootstrap_servers, group)
    second.next("assigned")
    first.next("assigned")
    begun = time.monotonic()
    first.member.leave_and_rejoin("a test", 2.0)
    first.next("lost")
    assert float(str(second.next("assigned")[4])) - begun < 1.5, "the group does not wait for it"
    assert float(str(first.next("assigned")[4])) - begun >= 2.0
    second.next("assigned")
    assert first.member.in_session()


def test_a_member_that_others_wait_for_can_leave_and_rejoin(broker: EmbeddedBroker, join: Join) -> None:
    group = f"group-{uuid.uuid4()}"
    lagging = join(broker.bootstrap_servers, group)
    lagging.next("assigned")
    lagging.ready = False
    other = join(broker.bootstrap_servers, group)
    with pytest.raises(queue.Empty):
        other.next("assigned", timeout=1.5)
    lagging.member.leave_and_rejoin("a test", 0.0)
    lagging.next("lost")
    other.next("assigned", timeout=3.0)
    lagging.ready = True
    lagging.next("assigned")


def test_a_member_that_waits_for_others_can_leave_and_rejoin(broker: EmbeddedBroker, join: Join) -> None:
    """The broker holds its request to join, and hears of nothing else before it has answered that."""
    group = f"group-{uuid.uuid4()}"
    slow = join(broker.bootstrap_servers, group)
    slow.next("assigned")
    other = join(broker.bootstrap_servers, group)
    other.next("assigned")
    slow.next("assigned")
    slow.ready, other.metadata = False, b"new"
    other.member.request_rejoin()
    with pytest.raises(queue.Empty):
        other.next("assigned", timeout=1.0)
    other.member.leave_and_rejoin("a test", 0.5)
    slow.ready = True
    heard = []
    while heard[-2:] != ["lost", "assigned"]:
        heard.append(other.heard.get(timeout=20.0)[0])
    assert other.member.in_session() and slow.member.in_session()


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
    assert worker.member.absence() is None
    own_broker.kill()
    wait_for(lambda: "without an answer from the coordinator" in (worker.member.absence() or ""), 6)
    worker.next("lost", timeout=10.0)
    assert not worker.member.in_session()
    assert ": no answer from the group coordinator for 6." in str(worker.member.absence())
    assert worker.member.absence(least=60.0) is None
    own_broker.start()
    worker.next("assigned")
    assert worker.member.in_session()
    assert worker.member.absence() is None
