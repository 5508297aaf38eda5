# SPDX-License-Identifier: Apache-2.0
"""What a sink has written of each Kafka partition as files, and how a batch of files becomes visible at once.

Spark writes a batch into a directory of its own that no reader looks at. Then a *record* with the next number is added
to the partition's log, which either is there or is not: from that moment the batch counts as written. Last, the files
are moved to where readers find them. Whoever takes the partition over finishes the moves of the latest record, and adds
a record of its own: a predecessor that is still alive finds its number taken and can write no more.

A topic that was deleted and made anew has other records at the same offsets, which its id tells. The files of the
former one stay: those of the new one begin at offset 0, under names that no file has had before.

To *rewind* a partition is to add a record that says from where on it is written again. Whoever takes over next removes
the files from there on, for it is about to write them anew, under names that no file has had before.

::

    <path>/region=eu/part-<connector>+<topic>+<partition>+<first>-<last>.parquet     what readers see
    <path>/_headrace/<connector>/<topic>/<partition>/00000000000000000007             the latest record
    <path>/_headrace/<connector>/<topic>/<partition>/files-<id>/region=eu/...         a batch that is being written

Connectors and topics stand there by their `file_name`. Former versions gave names with capitals as they are: logs that
lie there are carried on there.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Protocol

from headrace.api.errors import DataError, RetriableError
from headrace.connectors.common.file_names import file_name, plain_name
from headrace.connectors.common.topic_identity import are_different

_DIRECTORY: Final = "_headrace"
_PENDING: Final = "files-"
_DIGITS: Final = 20
_OFFSETS: Final = re.compile(rf"(\d{{{_DIGITS}}})-(\d{{{_DIGITS}}})(?:\+(\d+))?(?!\d)")


class Files(Protocol):
    """A file system. Paths are below one root, parted by slashes. RetriableError for what does not work."""

    def names(self, directory: str) -> list[str]:
        """Of all entries; none if there is no such directory."""

    def tree(self, directory: str) -> list[str]:
        """All files below, as paths from there on."""

    def read(self, path: str) -> str: ...

    def create(self, path: str, text: str) -> bool:
        """Make a file at one stroke, unless it is there already: False. What a crash may leave beside it begins with
        ``files-``."""

    def move(self, source: str, target: str) -> bool:
        """In place of what is there. Makes directories. False if there is no ``source``."""

    def delete(self, path: str) -> None:
        """With all below; nothing happens if it is not there."""

    def sync(self, paths: Sequence[str]) -> None:
        """Have files and their directories survive a crash of the machine, where that has to be asked for."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records ``first`` to ``last``, both included, of a partition; names are offsets."""

    topic: str
    partition: int
    first: int
    last: int
    rewinds: int = 0

    def file_name(self, connector: str, number: int, suffix: str) -> str:
        """The name of its file ``number``, of those that lie in one directory."""
        stem = _stem(file_name(connector, self.topic), self.partition)
        offsets = f"{self.first:0{_DIGITS}}-{self.last:0{_DIGITS}}"
        again = f"+{self.rewinds}" if self.rewinds else ""
        numbered = f"-{number}" if number else ""
        return f"{stem}{offsets}{again}{numbered}{suffix}"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the log: all below ``next`` is written. ``moves`` leads from below ``directory`` to below the root;
    one without has only taken the partition over, or ``removed`` what is written again.

    ``end`` is of one that rewinds: where ``next`` was before. ``rewinds`` counts how often that has come to pass, or a
    topic was made anew; ``token`` is that of who is about to. ``since`` is the count with which the topic began whose
    id is ``topic_id``.
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
        return f"{self.number:0{_DIGITS}}"

    def text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: str) -> Record:
        return Record(**json.loads(text))


class FencedError(RetriableError):
    """Another one has the partition. What this one knows of it is out of date."""


def _stem(connector_and_topic: str, partition: int) -> str:
    """What the names of all files of a partition begin with."""
    # Readers pass over names that begin with a dot or an underscore, as those of topics may.
    return f"part-{connector_and_topic}+{partition}+"


def _log_directory(files: Files, connector: str, topic: str) -> str:
    """Where its log is, or is to be."""
    own, former = (file_name(connector), file_name(topic)), (plain_name(connector), plain_name(topic))
    # Asked of the directories above: by a path one would find another one's, whose name has other capitals.
    lies_there = own != former and former[0] in files.names(_DIRECTORY)
    if lies_there and former[1] in files.names(f"{_DIRECTORY}/{former[0]}"):
        own = former
    return "/".join((_DIRECTORY, *own))


def moves(batch: Batch, connector: str, written: Iterable[str]) -> dict[str, str]:
    """What becomes of the files that Spark has written: the same directories, with names of the batch."""
    targets: dict[str, str] = {}
    numbers: dict[tuple[str, str], int] = {}
    for path in sorted(written):
        directory, _, name = path.rpartition("/")
        if any(map(_hidden, path.split("/"))):
            continue
        suffix = _suffix(name)
        number = numbers.get((directory, suffix), 0)
        numbers[directory, suffix] = number + 1
        made = batch.file_name(connector, number, suffix)
        targets[path] = f"{directory}/{made}" if directory else made
    return targets


def _hidden(name: str) -> bool:
    """Whether Spark's readers pass over it; a directory of a partition is named as its column is."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _suffix(name: str) -> str:
    """``.snappy.parquet`` of ``part-00000-<id>.c000.snappy.parquet``."""
    parts = name.split(".")[1:]
    return "".join(f".{part}" for part in parts if not (part.startswith("c") and part[1:].isdigit()))


def _end(record: Record) -> int:
    """Up to where files are there, whether they are to be written again or not."""
    return record.next if record.end is None else record.end


def _plain(record: Record) -> Record:
    """What a record says of the partition, without what it has done."""
    return replace(record, directory="", moves=None, removed=())


def _written(record: Record, number: int, next: int, end: int | None = None) -> Record:
    """A record that follows, of the same topic, by which all below ``next`` is written."""
    return replace(_plain(record), number=number, next=next, end=end, token="")


class BatchLog:
    """The log of one connector and partition. One call at a time; each may be repeated after whatever crash."""

    def __init__(self, files: Files, connector: str, topic: str, partition: int) -> None:
        self._files = files
        self._connector = connector
        self._where = f"{topic}-{partition}"
        both = (file_name(connector, topic), plain_name(connector, topic))
        self._stems = tuple(_stem(each, partition) for each in both)
        self._directory = f"{_log_directory(files, connector, topic)}/{partition}"

    def take_over(self, topic_id: str = "") -> Record:
        """Finish what the latest record has begun and make it impossible for others to go on: the record of that.

        Of a topic with another id than the one that was written nothing is written yet. An empty one says nothing.
        """
        while True:
            latest = self._latest()
            self._finish(latest)
            own = self._successor(latest, topic_id)
            if self._added(own):
                break
        self._finish(own)
        # Only now: a batch that lies here has no record, and can get none any more.
        for name in self._files.names(self._directory):
            if name.startswith(_PENDING):
                self._files.delete(f"{self._directory}/{name}")
        self._forget_before(own)
        return own

    def new_directory(self) -> str:
        """Where a batch can be written."""
        return f"{self._directory}/{_PENDING}{uuid.uuid4().hex}"

    def commit(self, batch: Batch, directory: str, after: Record) -> Record:
        """Make the files in ``directory`` visible as ``batch``, which follows ``after``. FencedError, and they are not,
        if something else does."""
        latest = self._latest()
        made = moves(replace(batch, rewinds=latest.rewinds), self._connector, self._files.tree(directory))
        if not made:
            raise RetriableError(f"{self._where}: Spark has left no files in {directory}")
        # Should the latest record be another one than the caller knows, its number is taken.
        record = replace(_written(latest, after.number + 1, batch.last + 1), directory=directory, moves=made)
        self._files.sync([f"{directory}/{path}" for path in made])
        if not self._added(record):
            # The files are left to whoever takes over: it may be at moving them, if it has seen the record.
            raise FencedError(
                f"{self._where}: somebody else has written after offset {after.next - 1}, or has taken the partition "
                f"over"
            )
        self._finish(record)
        self._forget_before(record)
        return record

    def prepare_rewind(self, to: int, token: str, *, within: bool) -> None:
        """Announce that the partition is to be written again from ``to`` on. Nobody may write to it meanwhile.

        DataError, unless ``within`` allows it, if that is in the midst of a file: files are kept or written again as
        they are.
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
        """Have whoever takes over next write again from ``to`` on, or from the end of the files around it.

        To go forward takes back what was not done yet. FencedError if somebody has taken over since ``prepare_rewind``
        with that token: there is no telling what they have read.
        """
        latest = self._latest()
        if latest.token != token:
            raise FencedError(f"{self._where}: somebody has taken the partition over meanwhile")
        around, end = self._around(to, latest), _end(latest)
        start = min(around[1] + 1 if around else to, end)
        changed = _written(latest, latest.number + 1, start, end if start < end else None)
        if not self._added(changed):
            raise FencedError(f"{self._where}: somebody has taken the partition over meanwhile")
        self._forget_before(changed)

    def _successor(self, latest: Record, topic_id: str) -> Record:
        """The record of who takes over: what is to be written again is not there any more."""
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
        """First and last offset of the files that have records on both sides of it."""
        return next((span for span in self._visible(latest).values() if span[0] < offset <= span[1]), None)

    def _visible(self, latest: Record) -> dict[str, tuple[int, int]]:
        """The partition's files of the topic that the latest record is of, and of each its first and last offset."""
        found = {}
        for path in self._files.tree("") if self._files.names("") else ():
            name = path.rpartition("/")[2]
            stem = next(filter(name.startswith, self._stems), None)
            offsets = _OFFSETS.match(name.removeprefix(stem)) if stem else None
            ours = offsets and int(offsets[3] or 0) >= latest.since
            if offsets and ours and not path.startswith(f"{_DIRECTORY}/"):
                found[path] = (int(offsets[1]), int(offsets[2]))
        return found

    def _latest(self) -> Record:
        numbers = sorted(self._numbers(), reverse=True)
        return Record.of(self._files.read(f"{self._directory}/{numbers[0]}")) if numbers else Record(0, 0)

    def _numbers(self) -> Iterator[str]:
        return (name for name in self._files.names(self._directory) if name.isdigit())

    def _added(self, record: Record) -> bool:
        """Who has slept so long that its number was forgotten would find it free: but there are higher ones."""
        if not self._files.create(f"{self._directory}/{record.name}", record.text()):
            return False
        return max(self._numbers()) == record.name

    def _finish(self, record: Record) -> None:
        for path in record.removed:
            # No other file ever gets its name, so that this may be done late and by several.
            self._files.delete(path)
        for source, target in (record.moves or {}).items():
            # One that is not there any more was moved before.
            self._files.move(f"{record.directory}/{source}", target)
        if record.removed or record.moves:
            self._files.sync([*record.removed, *(record.moves or {}).values()])
        if record.directory:
            self._files.delete(record.directory)

    def _forget_before(self, record: Record) -> None:
        for name in self._numbers():
            if name < record.name:
                self._files.delete(f"{self._directory}/{name}")
