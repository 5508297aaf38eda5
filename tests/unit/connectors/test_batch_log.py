# SPDX-License-Identifier: Apache-2.0
"""Batches of files: there as a whole or not at all, once each, wherever a writer dies, with any other writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import DataError, RetriableError
from headrace.connectors.common import local_files
from headrace.connectors.common.batch_log import BatchLog, FencedError, Files, Record
from headrace.connectors.common.batch_names import Batch, moves
from headrace.connectors.common.local_files import LocalFiles

SINK = "my sink/1"


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No crash of the machine is meant here, and to be safe from one takes long."""
    monkeypatch.setattr(local_files, "_sync", lambda path: None)


class Crash(BaseException):
    """The process is gone."""


class DyingFiles:
    """Files that are the last thing a process sees: the call number ``at`` is its last, done or not."""

    def __init__(self, files: Files, at: int, *, done: bool) -> None:
        self._files = files
        self._left = at
        self._done = done

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._files, name)

        def dying(*arguments: Any) -> Any:
            self._left -= 1
            if self._left > 0:
                return call(*arguments)
            if self._left == 0 and self._done:
                call(*arguments)
            raise Crash

        return dying


def write(root: Path, log: BatchLog, first: int, last: int, after: Record) -> Record:
    """What Spark and a task do: offsets into two directories by their last bit, then the commit."""
    directory = log.new_directory()
    for bit in (0, 1):
        lines = [str(n) for n in range(first, last + 1) if n % 2 == bit]
        if lines:
            file = root / directory / f"bit={bit}" / f"part-0000{bit}-abc.c000.snappy.txt"
            file.parent.mkdir(parents=True)
            file.write_text("\n".join(lines) + "\n")
    (root / directory).mkdir(parents=True, exist_ok=True)
    (root / directory / "_SUCCESS").touch()
    return log.commit(Batch("t", 0, first, last), directory, after)


def visible(root: Path) -> list[int]:
    """What a reader finds."""
    files = [file for file in root.rglob("*") if file.is_file() and "_headrace" not in file.parts]
    return sorted(int(line) for file in files for line in file.read_text().split())


def new_log(root: Path, files: Files | None = None) -> BatchLog:
    return BatchLog(files or LocalFiles(root), SINK, "t", 0)


def test_batches_become_visible_with_names_that_say_what_they_are(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    state = write(tmp_path, log, 0, 4, log.take_over())
    state = write(tmp_path, log, 5, 5, state)
    assert visible(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert state.next == 6
    names = sorted(file.name for file in (tmp_path / "bit=1").iterdir())
    assert names == [
        "part-my%20sink%2F1+t+0+00000000000000000000-00000000000000000004.snappy.txt",
        "part-my%20sink%2F1+t+0+00000000000000000005-00000000000000000005.snappy.txt",
    ]
    # Of the log, the latest record is all that stays.
    assert len(list((tmp_path / "_headrace").rglob("*.*"))) == 0
    assert [file.name for file in (tmp_path / "_headrace").rglob("*") if file.is_file()] == [state.name]


def test_a_successor_goes_on_where_the_log_ends(tmp_path: Path) -> None:
    first = new_log(tmp_path)
    write(tmp_path, first, 3, 9, first.take_over())
    assert new_log(tmp_path).take_over().next == 10
    assert BatchLog(LocalFiles(tmp_path), SINK, "t", 1).take_over().next == 0
    assert BatchLog(LocalFiles(tmp_path), "another", "t", 0).take_over().next == 0


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_nothing_is_lost_or_doubled_wherever_a_writer_dies(tmp_path: Path, done: bool) -> None:
    """A writer of 0 to 9 in two batches dies at its nth call; another one goes on with batches of another size."""
    outcomes = set()
    for at in range(1, 200):
        root = tmp_path / str(at)
        root.mkdir()
        dying = new_log(root, DyingFiles(LocalFiles(root), at, done=done))  # type: ignore[arg-type]
        try:
            state = dying.take_over()
            state = write(root, dying, 0, 3, state)
            write(root, dying, 4, 9, state)
            break
        except Crash:
            pass
        log = new_log(root)
        state = log.take_over()
        outcomes.add(state.next)
        # Between the crash and the successor's first batch a reader sees whole batches.
        assert visible(root) == list(range(state.next))
        for offset in range(state.next, 10, 7):
            state = write(root, log, offset, min(offset + 6, 9), state)
        assert visible(root) == list(range(10)), at
    else:
        pytest.fail("the writer never came to its end")
    assert outcomes == {0, 4, 10}
    assert at > 20


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_successor_may_die_too(tmp_path: Path, done: bool) -> None:
    for at in range(1, 30):
        root = tmp_path / str(at)
        root.mkdir()
        # The record is there, and nothing is moved yet.
        log = new_log(root)
        after = log.take_over()
        with pytest.raises(Crash):
            write(root, new_log(root, DyingFiles(LocalFiles(root), 6, done=True)), 0, 5, after)  # type: ignore[arg-type]
        assert visible(root) == []
        try:
            new_log(root, DyingFiles(LocalFiles(root), at, done=done)).take_over()  # type: ignore[arg-type]
            break
        except Crash:
            pass
        assert new_log(root).take_over().next == 6
        assert visible(root) == list(range(6))
    assert at > 7


def test_a_predecessor_that_is_still_alive_writes_no_more(tmp_path: Path) -> None:
    former = new_log(tmp_path)
    state = former.take_over()
    log = new_log(tmp_path)
    own = log.take_over()
    with pytest.raises(FencedError, match="t-0: another task has written after offset -1, or has taken"):
        write(tmp_path, former, 0, 5, state)
    assert visible(tmp_path) == []
    write(tmp_path, log, 0, 1, own)
    assert visible(tmp_path) == [0, 1]
    assert log.take_over().next == 2


def test_one_that_has_slept_for_long_finds_its_number_free_and_is_fenced_all_the_same(tmp_path: Path) -> None:
    former = new_log(tmp_path)
    state = former.take_over()
    log = new_log(tmp_path)
    own = log.take_over()
    for offset in range(5):
        own = write(tmp_path, log, offset, offset, own)
    with pytest.raises(FencedError):
        write(tmp_path, former, 0, 9, state)
    assert visible(tmp_path) == [0, 1, 2, 3, 4]
    # What it has left behind does not count either.
    assert new_log(tmp_path).take_over().next == 5
    assert visible(tmp_path) == [0, 1, 2, 3, 4]


def test_what_was_moved_by_another_one_is_moved(tmp_path: Path) -> None:
    """Two finish the same record at once: here the successor, when the writer has moved but one of two files."""
    log = new_log(tmp_path)
    after = log.take_over()
    calls = {"move": 0}

    class Overtaken(LocalFiles):
        def move(self, source: str, target: str) -> bool:
            calls["move"] += 1
            if calls["move"] == 2:
                assert new_log(tmp_path).take_over().next == 6
                assert visible(tmp_path) == list(range(6))
                assert not super().move(source, target)
                return False
            return super().move(source, target)

    write(tmp_path, new_log(tmp_path, Overtaken(tmp_path)), 0, 5, after)
    assert visible(tmp_path) == list(range(6))


def written(root: Path, *batches: tuple[int, int]) -> BatchLog:
    """The log of a sink that was stopped after these batches."""
    log = new_log(root)
    state = log.take_over()
    for first, last in batches:
        state = write(root, log, first, last, state)
    return log


def rewound(root: Path, to: int, *, within: bool = False, files: Files | None = None) -> None:
    log = new_log(root, files)
    log.prepare_rewind(to, "token", within=within)
    log.rewind(to, "token")


def test_what_is_written_again_takes_the_place_of_what_was(tmp_path: Path) -> None:
    written(tmp_path, (0, 3), (4, 7), (8, 9))
    rewound(tmp_path, 4)
    # Nothing is removed before a task is about to write it again.
    assert visible(tmp_path) == list(range(10))
    log = new_log(tmp_path)
    state = log.take_over()
    assert (state.next, visible(tmp_path)) == (4, [0, 1, 2, 3])
    state = write(tmp_path, log, 4, 7, state)
    write(tmp_path, log, 8, 11, state)
    assert visible(tmp_path) == list(range(12))
    names = sorted(file.name for file in (tmp_path / "bit=0").iterdir())
    assert [name.partition(".")[0].split("+", 3)[3] for name in names] == [
        "00000000000000000000-00000000000000000003",
        "00000000000000000004-00000000000000000007+1",
        "00000000000000000008-00000000000000000011+1",
    ]
    assert new_log(tmp_path).take_over().next == 12
    assert visible(tmp_path) == list(range(12))


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    written(tmp_path, (0, 3))
    others = [
        BatchLog(LocalFiles(tmp_path), SINK, "t", 1),
        BatchLog(LocalFiles(tmp_path), SINK, "t+0", 0),
        BatchLog(LocalFiles(tmp_path), "my sink", "t", 0),
    ]
    for log in others:
        log.take_over()
    name = "part-my%20sink%2F1+t+1+00000000000000000000-00000000000000000003.txt"
    (tmp_path / name).write_text("7\n")
    (tmp_path / "_headrace" / f"{name}".replace("+1+", "+0+")).touch()
    rewound(tmp_path, 0)
    new_log(tmp_path).take_over()
    assert visible(tmp_path) == [7]


def test_a_topic_that_is_created_again_leaves_the_files_of_the_former_one(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    write(tmp_path, log, 0, 3, log.take_over("former"))
    assert new_log(tmp_path).take_over("former").next == 4
    assert new_log(tmp_path).take_over("").next == 4, "who cannot know says nothing"
    log = new_log(tmp_path)
    state = log.take_over("new")
    assert state.next == 0
    write(tmp_path, log, 0, 3, state)
    assert visible(tmp_path) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert new_log(tmp_path).take_over("new").next == 4
    # To write the new one again takes nothing away from the former one.
    rewound(tmp_path, 0)
    assert new_log(tmp_path).take_over("new").next == 0
    assert visible(tmp_path) == [0, 1, 2, 3]


def test_offsets_that_were_changed_before_a_topic_was_created_again_take_nothing_away(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    write(tmp_path, log, 0, 3, log.take_over("former"))
    rewound(tmp_path, 0)
    assert new_log(tmp_path).take_over("new").next == 0
    assert visible(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_rewind_is_whole_wherever_a_task_dies(tmp_path: Path, done: bool) -> None:
    """The operator's worker, the task that takes over, or its successor: the nth call is the last of one of them."""
    for at in range(1, 100):
        root = tmp_path / str(at)
        root.mkdir()
        written(root, (0, 3), (4, 7))
        files: Any = DyingFiles(LocalFiles(root), at, done=done)
        try:
            rewound(root, 4, files=files)
            log = new_log(root, files)
            write(root, log, 4, 5, log.take_over())
            break
        except Crash:
            pass
        log = new_log(root)
        state = log.take_over()
        write(root, log, state.next, 9, state)
        assert visible(root) == list(range(10)), at
    else:
        pytest.fail("it never came to its end")
    assert at > 20


def test_files_are_gone_back_to_as_a_whole(tmp_path: Path) -> None:
    written(tmp_path, (0, 3), (4, 7), (9, 12))
    log = new_log(tmp_path)
    expected = "Offset 6 of t-0 is in the midst of files of offsets 4 to 7: go back to 4 or to 8"
    with pytest.raises(DataError, match=expected):
        log.prepare_rewind(6, "token", within=False)
    assert log.take_over().next == 13
    # Where Kafka has no records before an offset, what there is of them stays.
    rewound(tmp_path, 6, within=True)
    assert new_log(tmp_path).take_over().next == 8
    assert visible(tmp_path) == list(range(8))


def test_in_the_midst_of_the_last_file_there_is_nothing_to_write_again(tmp_path: Path) -> None:
    written(tmp_path, (0, 3), (4, 7))
    rewound(tmp_path, 6, within=True)
    rewound(tmp_path, 9)
    assert new_log(tmp_path).take_over().next == 8
    assert visible(tmp_path) == list(range(8))


def test_a_rewind_that_is_taken_back_loses_no_batch(tmp_path: Path) -> None:
    written(tmp_path, (0, 3), (4, 7), (8, 9))
    rewound(tmp_path, 0)
    rewound(tmp_path, 8)
    assert new_log(tmp_path).take_over().next == 8
    assert visible(tmp_path) == list(range(8))
    rewound(tmp_path, 4)
    rewound(tmp_path, 100)
    assert new_log(tmp_path).take_over().next == 8
    assert visible(tmp_path) == list(range(8))


def test_no_task_can_have_taken_over_in_the_midst_of_a_rewind(tmp_path: Path) -> None:
    """It may have read on, and dropped what was there."""
    log = written(tmp_path, (0, 3))
    operator = new_log(tmp_path)
    operator.prepare_rewind(0, "token", within=False)
    state = log.take_over()
    with pytest.raises(FencedError, match="t-0: another task has taken the partition over meanwhile"):
        operator.rewind(0, "token")
    write(tmp_path, log, 4, 5, state)
    assert visible(tmp_path) == list(range(6))


def test_a_process_that_removes_files_late_removes_no_new_ones(tmp_path: Path) -> None:
    written(tmp_path, (0, 3), (4, 7))
    rewound(tmp_path, 4)

    others: list[BatchLog] = []

    class Late(LocalFiles):
        def delete(self, path: str) -> None:
            if path.startswith("bit=") and not others:
                log = new_log(tmp_path)
                others.append(log)
                write(tmp_path, log, 4, 7, log.take_over())
            super().delete(path)

    new_log(tmp_path, Late(tmp_path)).take_over()
    assert visible(tmp_path) == list(range(8))


def test_what_spark_names_and_hides() -> None:
    batch = Batch("t", 1, 7, 8)
    made = moves(
        batch,
        "c",
        [
            "part-00001-x.c000.json",
            "part-00000-x.c000.json",
            "_SUCCESS",
            ".part.crc",
            "_temporary/0/part-0.json",
            "_day=1/part-00000-x.gz.parquet",
        ],
    )
    stem = "part-c+t+1+00000000000000000007-00000000000000000008"
    assert made == {
        "_day=1/part-00000-x.gz.parquet": f"_day=1/{stem}.gz.parquet",
        "part-00000-x.c000.json": f"{stem}.json",
        "part-00001-x.c000.json": f"{stem}-1.json",
    }


def test_a_file_system_that_refuses_may_work_later(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RetriableError, match="cannot be listed: Not a directory"):
        new_log(tmp_path / "file").take_over()


class CaseBlindFiles(LocalFiles):
    """As on a Mac: names are kept as they were first written, and found by whatever letters."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._top = root

    def names(self, directory: str) -> list[str]:
        return super().names(self._found(directory))

    def tree(self, directory: str) -> list[str]:
        return super().tree(self._found(directory))

    def read(self, path: str) -> str:
        return super().read(self._found(path))

    def create(self, path: str, text: str) -> bool:
        return super().create(self._found(path), text)

    def move(self, source: str, target: str) -> bool:
        return super().move(self._found(source), self._found(target))

    def delete(self, path: str) -> None:
        super().delete(self._found(path))

    def sync(self, paths: Sequence[str]) -> None:
        pass

    def _found(self, path: str) -> str:
        found = self._top
        for part in filter(None, path.split("/")):
            there = [entry.name for entry in found.iterdir()] if found.is_dir() else []
            found /= next((name for name in there if name.lower() == part.lower()), part)
        return found.relative_to(self._top).as_posix() if found != self._top else ""


ODD_NAMES = [".", "..", "sink", "Sink", "SINK", "a/../b", "x" * 300, "ö" * 100]


@pytest.mark.parametrize("files", [LocalFiles, CaseBlindFiles])
def test_odd_names_of_connectors_and_topics_have_logs_and_files_of_their_own(
    tmp_path: Path, files: type[LocalFiles]
) -> None:
    root = tmp_path / "target"
    places = [(sink, topic) for sink in ODD_NAMES for topic in ("t", "T", "x" * 249)]
    for sink, topic in places:
        log = BatchLog(files(root), sink, topic, 0)
        after = log.take_over()
        assert after.next == 0, "no other log"
        directory = log.new_directory()
        (root / directory).mkdir(parents=True)
        (root / directory / "part-0.c000.snappy.parquet").write_text("0\n")
        log.commit(Batch(topic, 0, 0, 0), directory, after)
    assert len(visible(root)) == len(places)
    assert [BatchLog(files(root), *place, 0).take_over().next for place in places] == [1] * len(places)
    assert [entry.name for entry in tmp_path.iterdir()] == ["target"]
    assert {entry.name for entry in root.iterdir() if entry.is_dir()} == {"_headrace"}


def test_logs_that_former_versions_began_are_carried_on(tmp_path: Path) -> None:
    former = tmp_path / "_headrace" / "Sink" / "Orders" / "0"
    former.mkdir(parents=True)
    (former / Record(7, 5).name).write_text(Record(7, 5).text())
    (tmp_path / f"part-Sink+Orders+0+{0:020}-{4:020}.json").write_text("0\n")
    log = BatchLog(LocalFiles(tmp_path), "Sink", "Orders", 0)
    assert log.take_over().next == 5
    assert BatchLog(LocalFiles(tmp_path), "Sink", "orders", 0).take_over().next == 0
    log.prepare_rewind(0, "token", within=False)
    log.rewind(0, "token")
    assert BatchLog(LocalFiles(tmp_path), "Sink", "Orders", 0).take_over().next == 0
    assert visible(tmp_path) == [], "the former version's file is written again too"
