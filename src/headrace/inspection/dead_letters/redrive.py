# SPDX-License-Identifier: Apache-2.0
"""A redrive: letters are consumed, transformed and produced, with the positions after them in the same transaction.

The group's offsets expire, so each transaction leaves the positions in the topic, too (``letter``).
Since positions say what is pending, a letter that is passed but not taken is written again, behind the others and in
the transaction that passes it. Which letters are passed is planned before: none behind the last one that is taken.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_topic import LetterReader, LetterTopic
from headrace.inspection.dead_letters.redrive_rules import (
    Action,
    Choice,
    LetterRequest,
    Outcome,
    OutgoingRecord,
    Redriver,
    kept_letter,
    marked,
    position_record,
)
from headrace.kafka.data.range_reader import Range
from headrace.kafka.data.transactional_producer import TransactionalProducer

log = logging.getLogger(__name__)
_BATCH: Final = 500
_TIMEOUT_S: Final = 60.0
_FAILURES: Final = 5


class CancelledError(ConnectError):
    """The redrive was cancelled, between two transactions."""


@dataclass(slots=True)
class Counts:
    """The numbers of a redrive so far. Letters in ``taken`` are ``redriven``, ``dropped`` or ``failed``, or discarded.

    A plan counts in ``taken`` only what a transaction has not done yet; ``kept`` are letters written again.
    """

    planned: int = 0
    """Letters to pass in all."""
    passed: int = 0
    taken: int = 0
    redriven: int = 0
    dropped: int = 0
    """By a transformation."""
    failed: int = 0
    """Not redriven for a reason of their own: still pending."""
    redriven_before: int = 0
    """Not redriven since they were before: still pending."""
    of_others: int = 0
    """Not redriven since they name another connector: still pending, for that one too."""
    kept: int = 0
    records: int = 0
    """Records written to other topics than the dead letter topic."""

    def to_json(self) -> dict[str, int]:
        return asdict(self)

    def add(self, other: Counts) -> None:
        for name, count in asdict(other).items():
            setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True, slots=True)
class Plan:
    """The ranges that a redrive passes, each up to its last letter that is taken; and what is in them."""

    ranges: Mapping[int, Range]
    counts: Counts


def plan_redrive(request: LetterRequest, pending: Mapping[int, Range], letters: Iterable[Letter]) -> Plan:
    """Return the plan for the pending letters; ``letters`` are these, in the order of each partition. Pure."""
    ends: dict[int, int] = {}
    counts, passed = Counts(), dict.fromkeys(pending, 0)
    seen = dict.fromkeys(pending, 0)
    for letter in letters:
        record, choice = letter.record, request.choose(letter)
        seen[record.partition] += 1
        counts.redriven_before += choice is Choice.REDRIVEN_BEFORE
        counts.of_others += choice is Choice.OF_ANOTHER
        if choice is not Choice.TAKEN:
            continue
        counts.taken += 1
        ends[record.partition], passed[record.partition] = record.offset + 1, seen[record.partition]
        if counts.taken == request.limit:
            break
    counts.planned = sum(passed.values())
    return Plan({p: Range(pending[p].begin, end) for p, end in ends.items()}, counts)


class Redrive:
    """One redrive or discard. For one thread; ``counts`` may be read by others."""

    def __init__(
        self,
        topic: LetterTopic,
        request: LetterRequest,
        redriver: Redriver,
        producer: Mapping[str, str],
        cancelled: Callable[[], bool] = lambda: False,
        hide: Callable[[str], str] = lambda text: text,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """``redriver`` decides what becomes of letters that are taken: a discard's returns outcomes without records.

        ``producer`` are the properties of the transactional producer; ``hide`` returns an error's text without values
        of references; ``clock_ms`` is the time since the epoch.
        """
        self.hide = hide
        self.counts = Counts()
        self.failures: list[str] = []
        """The reasons of the first letters that have failed."""
        self._topic = topic
        self._request = request
        self._redriver = redriver
        self._producer_props = producer
        self._cancelled = cancelled
        self._clock_ms = clock_ms
        self._kept_ms = cache(topic.kept_ms)
        self._partitions: dict[str, tuple[int, ...]] = {}

    def plan(self) -> Plan:
        """Return what ``run`` would do, and do nothing."""
        pending = self._topic.pending()
        return plan_redrive(self._request, pending, self._topic.letters(pending))

    def run(self) -> None:
        """Take the letters, a transaction per batch. Raise ProducerFencedError if another redrive has begun."""
        producer = TransactionalProducer(self._producer_props)
        try:
            # From here on a former redrive of the connector, wherever it runs, can commit nothing more.
            producer.init_transactions(_TIMEOUT_S, self._topic.topic)
            plan = self.plan()
            self.counts.planned = plan.counts.planned
            with closing(self._topic.reader(plan.ranges)) as reader:
                while letters := reader.read(_BATCH):
                    if self._cancelled():
                        raise CancelledError("It was cancelled; the letters after its last transaction are pending")
                    self._transact(producer, reader, letters)
        finally:
            producer.close()

    def _transact(self, producer: TransactionalProducer, reader: LetterReader, letters: Sequence[Letter]) -> None:
        counts = Counts(passed=len(letters))
        # Before the transaction begins: transformations can take their time.
        outgoing = self._outgoing(letters, counts)
        positions = reader.records.positions()
        outgoing += self._position_records(letters, positions)
        producer.begin()
        for record in outgoing:
            timestamp = self._timestamp(record)
            producer.records.send(record.topic, record.key, record.value, record.partition, timestamp, record.headers)
        producer.send_offsets(reader.records.client, positions, _TIMEOUT_S)
        producer.commit(_TIMEOUT_S, records=len(outgoing))
        self.counts.add(counts)

    def _outgoing(self, letters: Sequence[Letter], counts: Counts) -> list[OutgoingRecord]:
        """Return all records of the transaction: those of letters that are taken, and letters that are kept."""
        choices = [self._request.choose(letter) for letter in letters]
        taken = [letter for letter, choice in zip(letters, choices, strict=True) if choice is Choice.TAKEN]
        counts.taken = len(taken)
        counts.redriven_before = choices.count(Choice.REDRIVEN_BEFORE)
        counts.of_others = choices.count(Choice.OF_ANOTHER)
        outcomes = iter(self._outcomes(taken))
        outgoing: list[OutgoingRecord] = []
        for letter, choice in zip(letters, choices, strict=True):
            outcome = next(outcomes) if choice is Choice.TAKEN else None
            if outcome is None or outcome.failure is not None:
                counts.kept += 1
                counts.failed += outcome is not None
                outgoing.append(kept_letter(letter))
            elif self._request.action is Action.REDRIVE:
                counts.redriven += bool(outcome.records)
                counts.dropped += not outcome.records
                counts.records += len(outcome.records)
                outgoing += (marked(letter, record) for record in outcome.records)
        return outgoing

    def _position_records(
        self, letters: Sequence[Letter], positions: Mapping[TopicPartition, int]
    ) -> Iterator[OutgoingRecord]:
        """Yield the positions that last in the topic when those of the group have expired."""
        topic = self._topic
        for partition in sorted({letter.record.partition for letter in letters}):
            offset = positions[TopicPartition(topic.topic, partition)]
            yield position_record(topic.connector, topic.group, topic.topic, partition, offset)

    def _timestamp(self, record: OutgoingRecord) -> int | None:
        """Return a record's timestamp; None, the present time, if its topic could delete it before it is read."""
        kept_ms = self._kept_ms(record.topic)
        if record.timestamp is None or kept_ms is None:
            return record.timestamp
        return record.timestamp if self._clock_ms() - record.timestamp < kept_ms / 2 else None

    def _outcomes(self, taken: Sequence[Letter]) -> Sequence[Outcome]:
        outcomes = [self._checked(outcome) for outcome in self._redriver(taken)]
        for letter, outcome in zip(taken, outcomes, strict=True):
            if outcome.failure is not None and len(self.failures) < _FAILURES:
                self.failures.append(f"{letter.record.partition}:{letter.record.offset}: {self.hide(outcome.failure)}")
        return outcomes

    def _checked(self, outcome: Outcome) -> Outcome:
        """Return the outcome for the topics that there are: a producer would create others, or wait for them."""
        records = []
        for record in outcome.records:
            if record.topic not in self._partitions:
                self._partitions[record.topic] = self._topic.partitions(record.topic)
            partitions = self._partitions[record.topic]
            if not partitions:
                return Outcome(failure=f"there is no topic {record.topic}")
            if record.partition is not None and record.partition not in partitions:
                record = OutgoingRecord(record.topic, None, record.key, record.value, record.headers, record.timestamp)
            records.append(record)
        return Outcome(tuple(records), outcome.failure)
