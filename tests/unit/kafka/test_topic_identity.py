# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.kafka.admin.topic_admin import TopicDescription
from headrace.kafka.log.topic_identity import TopicIdentity


class Looks:
    def __init__(self, id: str = "A") -> None:
        self.now = 0.0
        self.identity = TopicIdentity("t", lambda: self.now)
        self.identity.accept(described(id))

    def loss(self, id: str | None, after: float = 0.0) -> str | None:
        self.now += after
        return self.identity.loss(None if id is None else described(id))


def described(id: str) -> TopicDescription:
    return TopicDescription("t", (0,), 1, id)


def test_another_id_is_another_topic() -> None:
    assert Looks().loss("A") is None
    assert Looks().loss("B") == "topic 't' was deleted and made again: its id was A, and is B now"


def test_a_topic_that_is_not_known_for_a_moment_is_waited_for() -> None:
    looks = Looks()
    assert [looks.loss(None), looks.loss(None, 9.9), looks.loss("A", 1.0), looks.loss(None, 9.0)] == [None] * 4
    assert looks.loss(None, 10.0) == "topic 't' was deleted"


def test_brokers_without_ids_report_nothing() -> None:
    assert Looks("").loss("B") is None
    assert Looks("A").loss("") is None


def test_doubts_ask_for_one_look() -> None:
    identity = Looks().identity
    assert not identity.is_another(described("A")) and not identity.take_doubt()
    assert identity.is_another(described("B"))
    assert identity.take_doubt() and not identity.take_doubt()
    assert identity.is_another(None) and identity.take_doubt()
    identity.doubt()
    assert identity.take_doubt()
    identity.doubt()
    identity.accept(described("B"))
    assert not identity.take_doubt() and identity.id == "B"
