# SPDX-License-Identifier: Apache-2.0
"""The log of the batches that a sink has written as files, by Kafka partition; it makes a batch visible at once.

Spark writes a batch into a directory of its own that no reader looks at. Then a *record* with the next number is added
to the partition's log, atomically: from that moment the batch counts as written. Last, the files are moved to the place
where readers find them. A task that takes the partition over finishes the moves of the latest record, and adds a record
of its own: a predecessor that is still alive finds its number taken and can write no more.

A topic that was deleted and created again has other records at the same offsets; its id differs. The files of the
former one stay: those of the new one begin at offset 0, under names that no file has had before.

To *rewind* a partition is to add a record with the offset from which it is written again. The next task that takes over
removes the files from there on, for it is about to write them again, under names that no file has had before.

::

    <path>/region=eu/part-<connector>+<topic>+<partition>+<first>-<last>.parquet     visible to readers
    <path>/_headrace/<connector>/<topic>/<partition>/00000000000000000007             the latest record
    <path>/_headrace/<connector>/<topic>/<partition>/files-<id>/region=eu/...         a batch that is being written

Connectors and topics appear by their `file_name`. Former versions used names with capitals unchanged: existing logs
under such names are continued there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Protocol

from headrace.api.errors import DataError, RetriableError
from headrace.connectors.common.batch_names import (
    DIGITS,
    Batch,
    are_different,
    file_name,
    file_stem,
    moves,
    offsets_in,
    plain_name,
)

_DIRECTORY: Final = "_headrace"
_PENDING: Final = "files-"


class Files(Protocol):
    """A file system. Paths are below one root, separated by slashes. All calls raise RetriableError if they fail."""

    def names(self, directory: str) -> list[str]:
        """Return the names of all entries; none if there is no such directory."""

    def tree(self, directory: str) -> list[str]:
        """Return all files below, as paths relative to the directory."""

    def read(self, path: str) -> str:
        """Return a file's text."""

    def create(self, path: str, text: str) -> bool:
        """Create a file atomically; return False if it exists already.

        Names of files that a crash may leave beside it begin with ``files-``.
        """

    def move(self, source: str, target: str) -> bool:
        """Move a file, replacing the target and creating directories; return False if there is no ``source``."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its content; nothing happens if it does not exist."""

    def sync(self, paths: Sequence[str]) -> None:
        """Make files and their directories durable, on file systems where that needs a call."""


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the log: all offsets below ``next`` are written.

    ``moves`` maps paths below ``directory`` to paths below the root. A record without moves only takes the partition
    over, or has ``removed`` files that are written again. ``end`` is the former ``next`` in a record that rewinds.
    ``rewinds`` counts rewinds and recreations of the topic; ``token`` identifies the rewind that is announced.
    ``since`` is the count at which the topic with id ``topic_id`` began.
    """

    number: int
    next: int
    directory: str = ""
    moves: Mapping[str, str] | None = None
    removed: Sequence[str] = ()
    rewinds: int = 0
    end: int | None = None
    token: str = ""
    topic_id: str = ""
    since: int = 0

    @property
    def name(self) -> str:
        return f"{self.number:0{DIGITS}}"

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: str) -> Record:
        return Record(**json.loads(text))


class FencedError(RetriableError):
    """Another task has taken the partition over. This one's state of it is out of date."""


def _log_directory(files: Files, connector: str, topic: str) -> str:
    """Return the directory of a topic's logs, existing or new."""
    own, former = (file_name(connector), file_name(topic)), (plain_name(connector), plain_name(topic))
    # Listed from the directories above: a look-up by path may find one whose name differs in its capitals.
    lies_there = own != former and former[0] in files.names(_DIRECTORY)
    if lies_there and former[1] in files.names(f"{_DIRECTORY}/{former[0]}"):
        own = former
    return "/".join((_DIRECTORY, *own))


def _end(record: Record) -> int:
    """Return the end offset of the existing files, those included that are to be written again."""
    return record.next if record.end is None else record.end


def _plain(record: Record) -> Record:
    """Return the record's state of the partition, without its changes of files."""
    return replace(record, directory="", moves=None, removed=())


def _written(record: Record, number: int, next: int, end: int | None = None) -> Record:
    """Return a following record, of the same topic, by which all offsets below ``next`` are written."""
    return replace(_plain(record), number=number, next=next, end=end, token="")


class BatchLog:
    """The log of one connector and partition. One call at a time; each may be repeated after any crash."""

    def __init__(self, files: Files, connector: str, topic: str, partition: int) -> None:
        self._files = files
        self._connector = connector
        self._where = f"{topic}-{partition}"
        both = (file_name(connector, topic), plain_name(connector, topic))
        self._stems = tuple(file_stem(each, partition) for each in both)
        self._directory = f"{_log_directory(files, connector, topic)}/{partition}"

    def take_over(self, topic_id: str = "") -> Record:
        """Finish the latest record's changes, fence all other writers, and return the record of that.

        For a topic with another id than that of the log nothing is written yet. An empty id is unknown.
        """
        while True:
            latest = self._latest()
            self._finish(latest)
            own = self._successor(latest, topic_id)
            if self._added(own):
                break
        self._finish(own)
        # Only now: a batch in such a directory has no record, and can get none any more.
        for name in self._files.names(self._directory):
            if name.startswith(_PENDING):
                self._files.delete(f"{self._directory}/{name}")
        self._forget_before(own)
        return own

    def new_directory(self) -> str:
        """Return a new directory for a batch."""
        return f"{self._directory}/{_PENDING}{uuid.uuid4().hex}"

    def commit(self, batch: Batch, directory: str, after: Record) -> Record:
        """Make the files in ``directory`` visible as ``batch``, which follows ``after``.

        Raise FencedError, without any effect, if another record follows ``after`` already.
        """
        latest = self._latest()
        made = moves(replace(batch, rewinds=latest.rewinds), self._connector, self._files.tree(directory))
        if not made:
            raise RetriableError(f"{self._where}: Spark has left no files in {directory}")
        # Should the latest record be another one than the caller knows, its number is taken.
        record = replace(_written(latest, after.number + 1, batch.last + 1), directory=directory, moves=made)
        self._files.sync([f"{directory}/{path}" for path in made])
        if not self._added(record):
            # The files are left to the task that takes over: it may be moving them, if it has seen the record.
            raise FencedError(
                f"{self._where}: another task has written after offset {after.next - 1}, or has taken the partition "
                f"over"
            )
        self._finish(record)
        self._forget_before(record)
        return record

    def prepare_rewind(self, to: int, token: str, *, within: bool) -> None:
        """Announce that the partition is to be written again from ``to`` on. No task may write to it meanwhile.

        Raise DataError, unless ``within`` allows it, if that offset is in the middle of a file: a file is either kept
        or written again as a whole.
        """
        while True:
            latest = self._latest()
            self._finish(latest)
            around = self._around(to, latest)
            if around and to < _end(latest) and not within:
                raise DataError(
                    f"Offset {to} of {self._where} is in the midst of files of offsets {around[0]} to {around[1]}: go "
                    f"back to {around[0]} or to {around[1] + 1}"
                )
            if self._added(replace(_plain(latest), number=latest.number + 1, token=token)):
                return

    def rewind(self, to: int, token: str) -> None:
        """Have the next task that takes over write again from ``to`` on, or from the end of the files around it.

        A later offset cancels a rewind that was not done yet. Raise FencedError if a task has taken over since
        ``prepare_rewind`` with that token: the offsets that it began at are unknown.
        """
        latest = self._latest()
        if latest.token != token:
            raise FencedError(f"{self._where}: another task has taken the partition over meanwhile")
        around, end = self._around(to, latest), _end(latest)
        start = min(around[1] + 1 if around else to, end)
        changed = _written(latest, latest.number + 1, start, end if start < end else None)
        if not self._added(changed):
            raise FencedError(f"{self._where}: another task has taken the partition over meanwhile")
        self._forget_before(changed)

    def _successor(self, latest: Record, topic_id: str) -> Record:
        """Return the record of a task that takes over; it removes the files that are to be written again."""
        own = _written(latest, latest.number + 1, latest.next)
        again = latest.rewinds + 1
        if are_different(latest.topic_id, topic_id):
            return replace(own, next=0, rewinds=again, since=again, topic_id=topic_id)
        own = replace(own, topic_id=topic_id or latest.topic_id)
        if latest.end is None:
            return own
        removed = [path for path, (first, _) in self._visible(latest).items() if first >= latest.next]
        return replace(own, removed=sorted(removed), rewinds=again)

    def _around(self, offset: int, latest: Record) -> tuple[int, int] | None:
        """Return the first and last offset of the files with records on both sides of ``offset``."""
        return next((span for span in self._visible(latest).values() if span[0] < offset <= span[1]), None)

    def _visible(self, latest: Record) -> dict[str, tuple[int, int]]:
        """Return the partition's files of the latest record's topic, each with its first and last offset."""
        found = {}
        for path in self._files.tree("") if self._files.names("") else ():
            offsets = offsets_in(path.rpartition("/")[2], self._stems)
            if offsets and offsets[2] >= latest.since and not path.startswith(f"{_DIRECTORY}/"):
                found[path] = offsets[:2]
        return found

    def _latest(self) -> Record:
        numbers = sorted(self._numbers(), reverse=True)
        return Record.of(self._files.read(f"{self._directory}/{numbers[0]}")) if numbers else Record(0, 0)

    def _numbers(self) -> Iterator[str]:
        return (name for name in self._files.names(self._directory) if name.isdigit())

    def _added(self, record: Record) -> bool:
        """Add a record; return False if its number is taken.

        A task may resume so late that the record with its number was deleted: then there are higher numbers.
        """
        if not self._files.create(f"{self._directory}/{record.name}", record.text()):
            return False
        return max(self._numbers()) == record.name

    def _finish(self, record: Record) -> None:
        for path in record.removed:
            # No other file ever gets its name, so that several tasks may do this, and late.
            self._files.delete(path)
        for source, target in (record.moves or {}).items():
            # A missing source was moved before.
            self._files.move(f"{record.directory}/{source}", target)
        if record.removed or record.moves:
            self._files.sync([*record.removed, *(record.moves or {}).values()])
        if record.directory:
            self._files.delete(record.directory)

    def _forget_before(self, record: Record) -> None:
        for name in self._numbers():
            if name < record.name:
                self._files.delete(f"{self._directory}/{name}")
