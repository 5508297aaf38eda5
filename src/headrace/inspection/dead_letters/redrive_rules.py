# SPDX-License-Identifier: Apache-2.0
"""The decisions of a redrive: which letters it takes, and which records they become. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from headrace.inspection.dead_letters.letter import PASSED, Letter, Mark, RawHeader, kept_headers, original_headers
from headrace.inspection.dead_letters.letter_filter import ALL, LetterFilter
from headrace.task.errors.reporters import with_redriven


class Action(str, Enum):
    """An action on letters: their records are written again, or they are passed without that."""

    REDRIVE = "redrive"
    DISCARD = "discard"


class Choice(Enum):
    """The decision about a letter."""

    TAKEN = "taken"
    NOT_SELECTED = "not_selected"
    OF_ANOTHER = "of_another"
    REDRIVEN_BEFORE = "redriven_before"


@dataclass(frozen=True, slots=True)
class LetterRequest:
    """A request to redrive or discard letters. ``config`` has the properties of an edited chain, if there is one."""

    action: Action
    filter: LetterFilter = ALL
    limit: int | None = None
    again: bool = False
    to_topic: str | None = None
    config: Mapping[str, str] | None = None
    dry_run: bool = False

    def choose(self, letter: Letter) -> Choice:
        """Return whether the request takes the letter: a redriven record that came back needs ``again``.

        A letter of another connector, with the same topic for its letters, needs a filter that names that.
        """
        if not self.filter.matches(letter):
            return Choice.NOT_SELECTED
        if letter.of_another and not self.filter.names_connector:
            return Choice.OF_ANOTHER
        if self.action is Action.REDRIVE and letter.redriven and not self.again:
            return Choice.REDRIVEN_BEFORE
        return Choice.TAKEN


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record to write. A ``partition`` of None is chosen by the key."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[RawHeader]
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for a letter: records, none if a transformation drops it; or the reason why it stays a letter."""

    records: tuple[OutgoingRecord, ...] = ()
    failure: str | None = None


Redriver = Callable[[Sequence[Letter]], Sequence[Outcome]]
"""Returns the outcome of each letter, in their order."""


def original_record(letter: Letter, to_topic: str | None, accepts: Callable[[str], bool]) -> Outcome:
    """Return the record that a sink consumed, for its topic and partition, or for ``to_topic``.

    ``accepts`` returns True for topics that the connector consumes: anyone who writes to the dead letter topic, or
    whose headers are in it, could name any other.
    """
    failure, record = letter.failure, letter.record
    topic, partition = to_topic, None
    if topic is None:
        topic = failure.get("topic")
        if topic is None:
            return Outcome(failure="the letter has no header with its topic; name one with to_topic")
        if not accepts(topic):
            return Outcome(failure=f"the connector does not consume topic {topic}; name a topic with to_topic")
        number = failure.get("partition", "")
        partition = int(number) if number.isdecimal() and len(number) < 10 else None
    outgoing = OutgoingRecord(
        topic, partition, record.key, record.value, original_headers(record.headers), record.timestamp
    )
    return Outcome((outgoing,))


def named_only(redriver: Redriver, sharing: Sequence[str]) -> Redriver:
    """Return a redriver for letters that name their connector; others could be of those that are ``sharing``."""

    def redrive(letters: Sequence[Letter]) -> Sequence[Outcome]:
        outcomes = iter(redriver([letter for letter in letters if letter.owner is not None]))
        failure = (
            f"the letter does not name its connector, and {', '.join(sharing)} has the same dead letter topic: give"
            " each connector one of its own (errors.deadletterqueue.topic.name)"
        )
        return [Outcome(failure=failure) if letter.owner is None else next(outcomes) for letter in letters]

    return redrive if sharing else redriver


def position_record(connector: str, group: str, topic: str, partition: int, offset: int) -> OutgoingRecord:
    """Return the record with the position up to which the connector's letters of a partition are done with."""
    mark = Mark(connector, topic, partition, offset)
    # With a key and a value it also lasts in a topic that is compacted.
    return OutgoingRecord(topic, partition, group.encode(), mark.to_bytes(), [mark.header(PASSED)], None)


def marked(letter: Letter, outgoing: OutgoingRecord) -> OutgoingRecord:
    """Return the record with the header that says that it was redriven."""
    record = letter.record
    headers = with_redriven([*outgoing.headers], letter.connector, record.topic, record.partition, record.offset)
    return OutgoingRecord(outgoing.topic, outgoing.partition, outgoing.key, outgoing.value, headers, outgoing.timestamp)


def kept_letter(letter: Letter) -> OutgoingRecord:
    """Return a letter as it is written again behind the others, as these are passed."""
    record = letter.record
    return OutgoingRecord(
        record.topic, record.partition, record.key, record.value, kept_headers(letter), record.timestamp
    )
