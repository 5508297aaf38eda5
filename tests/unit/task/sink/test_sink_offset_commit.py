# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.task.sink.sink_offset_commit import SinkOffsetCommit

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def at(**offsets: int) -> dict[TopicPartition, OffsetAndMetadata]:
    return {{"a": A, "b": B}[name]: OffsetAndMetadata(offset) for name, offset in offsets.items()}


def test_only_what_was_put_is_asked_about() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5})
    commit.record_consumed({A: 9, B: 3}, {A: 5, B: 0})
    assert commit.to_commit() == at(a=5)
    commit.record_put()
    assert commit.to_commit() == at(a=9, b=3)
    assert commit.to_commit([B]) == at(b=3)


def test_what_is_committed_already_is_not_committed_again() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5, B: 7})
    asked = commit.to_commit()
    assert commit.plan(asked, asked).offsets == {}
    commit.record_consumed({A: 6}, {A: 5})
    commit.record_put()
    asked = commit.to_commit()
    assert commit.plan(asked, asked).offsets == at(a=6)
    commit.begin_commit(at(a=6))
    assert commit.complete_commit({A: 6}, failed=False)
    assert commit.plan(asked, asked).offsets == {}


def test_a_commit_that_failed_is_made_again() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5})
    commit.record_consumed({A: 6}, {A: 5})
    commit.record_put()
    commit.begin_commit(at(a=6))
    assert commit.complete_commit({A: 6}, failed=True)
    assert commit.plan(commit.to_commit(), at(a=6)).offsets == at(a=6)


def test_answers_that_cannot_be_committed_are_reported() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5, B: 5})
    plan = commit.plan(commit.to_commit([A]), {**at(a=6, b=5), TopicPartition("u", 0): OffsetAndMetadata(1)})
    assert plan.offsets == {}
    assert plan.ignored == (
        "offset 6 of t-0: only those below 5 were put",
        "offset 5 of t-1: it was not asked about",
        "offset 1 of u-0: it is not assigned",
    )


def test_a_refusal_goes_back_to_what_is_committed_or_to_the_first_record() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5})
    commit.record_consumed({A: 9, B: 3}, {A: 5, B: 1})
    commit.record_put()
    assert commit.rewind_to_committed(commit.to_commit()) == {A: 5, B: 1}
    assert commit.to_commit() == at(a=5, b=1)


def test_an_answer_that_comes_late_counts_for_nothing() -> None:
    commit = SinkOffsetCommit()
    commit.add_partitions({A: 5})
    commit.record_consumed({A: 9}, {A: 5})
    commit.record_put()
    commit.begin_commit(at(a=9))
    commit.abandon_commit()
    commit.begin_commit(at(a=8))
    assert not commit.complete_commit({A: 9}, failed=False)
    assert commit.committed == at(a=5)


class Delivery(RuleBasedStateMachine):
    """Whatever happens in whatever order: no offset is planned beyond what was put (invariant 9)."""

    def __init__(self) -> None:
        super().__init__()
        self.commit = SinkOffsetCommit()
        self.position: dict[TopicPartition, int] = {}
        self.put: dict[TopicPartition, int] = {}
        self.batch: dict[TopicPartition, int] = {}

    @rule(where=st.sampled_from([A, B]), offset=st.integers(0, 50), known=st.booleans())
    def assign(self, where: TopicPartition, offset: int, known: bool) -> None:
        if where not in self.position:
            self.position[where] = self.put[where] = offset
            self.commit.add_partitions({where: offset} if known else {})

    @precondition(lambda self: self.position and not self.batch)
    @rule(counts=st.dictionaries(st.sampled_from([A, B]), st.integers(1, 9), min_size=1))
    def consume(self, counts: dict[TopicPartition, int]) -> None:
        begins = {where: self.position[where] for where in counts if where in self.position}
        self.batch = {where: begin + counts[where] for where, begin in begins.items()}
        self.position |= self.batch
        self.commit.record_consumed(self.batch, begins)

    @rule()
    def deliver(self) -> None:
        self.commit.record_put()
        self.put |= self.batch
        self.batch = {}

    @precondition(lambda self: self.put)
    @rule(data=st.data(), change=st.integers(-5, 5), accepted=st.booleans())
    def ask(self, data: st.DataObject, change: int, accepted: bool) -> None:
        asked = self.commit.to_commit()
        answer = {where: OffsetAndMetadata(max(0, each.offset + change)) for where, each in asked.items()}
        plan = self.commit.plan(asked, answer)
        for where, each in plan.offsets.items():
            assert each.offset <= self.put[where]
        self.commit.begin_commit(plan.offsets)
        self.commit.complete_commit({where: each.offset for where, each in plan.offsets.items()}, failed=not accepted)

    @precondition(lambda self: not self.batch)
    @rule()
    def refuse(self) -> None:
        back = self.commit.rewind_to_committed(self.commit.to_commit())
        for where, offset in back.items():
            assert offset <= self.put[where]
            self.position[where] = self.put[where] = offset

    @rule(where=st.sampled_from([A, B]))
    def revoke(self, where: TopicPartition) -> None:
        self.commit.remove_partitions([where])
        for known in (self.position, self.put, self.batch):
            known.pop(where, None)

    @invariant()
    def nothing_is_current_that_was_not_put(self) -> None:
        for where, each in self.commit.to_commit().items():
            assert each.offset <= self.put[where]


TestDelivery = Delivery.TestCase
