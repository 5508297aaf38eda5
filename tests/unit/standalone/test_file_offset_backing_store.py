# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.standalone import offsets_file
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.storage.offset_codec import encode_key, encode_offset

WAIT = 5
KEY = encode_key("lines", {"filename": '/tmp/ümläut \\ ".txt'})
OTHER = encode_key("lines", {"filename": "b"})
FOREIGN = encode_key("another", {"z": 1, "a": [1.5, None], "large": 2**70})
Open = Callable[[], FileOffsetBackingStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "offsets.json"


@pytest.fixture
def opened(path: Path) -> Iterator[Open]:
    """Opens the store; each time the one before is closed."""
    stores: list[FileOffsetBackingStore] = []

    def close() -> None:
        while stores:
            stores.pop().stop()

    def open() -> FileOffsetBackingStore:
        close()
        store = FileOffsetBackingStore(path)
        store.start()
        stores.append(store)
        return store

    yield open
    close()


def write(store: FileOffsetBackingStore, **offsets: int | None) -> None:
    store.set(
        {encode_key("c", {"p": name}): n if n is None else b'{"n":%d}' % n for name, n in offsets.items()}
    ).result(WAIT)


def offsets(store: FileOffsetBackingStore) -> dict[str, Any]:
    return {json.loads(key)["p"]: value["n"] for key, value in store.offsets_of("c").result(WAIT).items()}


def test_what_is_written_is_there_after_a_restart(opened: Open) -> None:
    values = {KEY: b'{"position":12}', OTHER: b'{"position":1.0E10}', FOREIGN: b'{"n":1180591620717411303424}'}
    store = opened()
    assert store.get([KEY]).result(WAIT) == {KEY: None}
    store.set({KEY: b'{"position":1}', OTHER: values[OTHER]}).result(WAIT)
    store.set({KEY: values[KEY], FOREIGN: values[FOREIGN]}).result(WAIT)
    for again in (False, True):
        current = opened() if again else store
        assert current.get([KEY, OTHER, FOREIGN]).result(WAIT) == values
        assert list(current.offsets_of("lines").result(WAIT).values()) == [{"position": 12}, {"position": 1.0e10}]
        assert current.offsets_of("none").result(WAIT) == {}


def test_a_tombstone_removes(opened: Open, path: Path) -> None:
    store = opened()
    write(store, a=1, b=2)
    write(store, a=None, never=None)
    assert offsets(store) == offsets(opened()) == {"b": 2}
    assert b'"a"' not in path.read_bytes()


def test_people_can_read_and_change_it(opened: Open, path: Path) -> None:
    write(opened(), a=1, b=2)
    assert path.read_text() == (
        '{"version":1,"offsets":[\n'
        '{"connector":"c","partition":{"p":"a"},"offset":{"n":1}},\n'
        '{"connector":"c","partition":{"p":"b"},"offset":{"n":2}}\n'
        "]}\n"
    )
    changed = {"offsets": [{"offset": {"n": 5}, "connector": "c", "partition": {"p": "a"}}], "version": 1}
    path.write_text(json.dumps(changed, indent=4))
    assert offsets(opened()) == {"a": 5}


@pytest.mark.parametrize("content", ["", "\n", '{"version":1,"offsets":[]}'])
def test_nothing_in_it(opened: Open, path: Path, content: str) -> None:
    path.write_text(content)
    store = opened()
    write(store, a=1)
    write(store, a=None)
    assert offsets(opened()) == {}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "Java's binary format"),
        (b"{", "Not JSON"),
        (b"[]", "does not look like"),
        (b'{"version":2,"offsets":[]}', "version 2 of the format"),
        (b'{"version":1,"offsets":[{"connector":"c","partition":{}}]}', "offset 1 in it lacks"),
        (b'{"version":1,"offsets":[{"connector":"c","partition":{},"offset":{}},7]}', "offset 2 in it lacks"),
    ],
)
def test_another_file_is_refused_and_left_alone(path: Path, content: bytes, text: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=text) as raised:
        FileOffsetBackingStore(path).start()
    message = str(raised.value)
    assert message.startswith(f"Invalid value '{path}' for configuration offset.storage.file.filename: ")
    assert "\n" not in message
    assert path.read_bytes() == content
    path.unlink()
    store = FileOffsetBackingStore(path)  # what was refused is not held either
    store.start()
    store.stop()


@pytest.mark.parametrize("where", ["none/offsets", "."])
def test_a_place_that_cannot_be_a_file(tmp_path: Path, where: str) -> None:
    with pytest.raises(ConfigError, match=r"offset\.storage\.file\.filename"):
        FileOffsetBackingStore(tmp_path / where).start()


def test_two_workers_cannot_share_it(opened: Open, path: Path) -> None:
    opened()
    with pytest.raises(ConfigError, match="another worker uses it; each needs a file of its own"):
        FileOffsetBackingStore(path).start()


def test_a_link_stays_one_and_the_mode_is_kept(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "real.json"
    target.parent.mkdir()
    target.touch(mode=0o600)
    path.symlink_to(target)
    store = FileOffsetBackingStore(path)
    store.start()
    write(store, a=1)
    store.stop()
    assert path.is_symlink()
    assert b'"n":1' in target.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_changes_nothing(opened: Open, path: Path) -> None:
    store = opened()
    write(store, a=1)
    obstacle = path.with_name(f".{path.name}.new")
    obstacle.mkdir()
    with pytest.raises(RetriableError, match=r"offset\.storage\.file\.filename=.*cannot be written: Is a directory"):
        write(store, a=2, b=2)
    assert offsets(store) == {"a": 1}
    obstacle.rmdir()
    write(store, b=3)
    assert offsets(store) == offsets(opened()) == {"a": 1, "b": 3}


def test_what_is_no_offset_is_not_written(opened: Open) -> None:
    store = opened()
    write(store, a=1)
    for records in ({b'"connector"': b"{}"}, {KEY: b"7"}):
        with pytest.raises(DataError):
            store.set(records).result(WAIT)
    assert offsets(store) == offsets(opened()) == {"a": 1}


def test_reads_come_after_the_writes_before_them(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    go, replace = threading.Event(), offsets_file.replace_file

    def slowly(path: Path, data: bytes) -> None:
        assert go.wait(WAIT)
        replace(path, data)

    monkeypatch.setattr(offsets_file, "replace_file", slowly)
    store = opened()
    writing = store.set({KEY: encode_offset({"n": 1})})
    reading = store.get([KEY])
    assert not writing.done() and not reading.done()
    go.set()
    assert reading.result(WAIT) == {KEY: b'{"n":1}'}


def test_stopped_it_has_written_all_and_takes_no_more(opened: Open, path: Path) -> None:
    store = opened()
    writes = [store.set({KEY: encode_offset({"n": n})}) for n in range(20)]
    store.stop()
    assert all(write.done() for write in writes)
    assert b'{"n":19}' in path.read_bytes()
    with pytest.raises(ConnectError, match="the worker is stopping"):
        store.set({KEY: None}).result(WAIT)


# ---- crashes, of real processes

WRITER = """
import os, signal, sys
from pathlib import Path
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.storage.offset_codec import encode_key

path, die_in, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = FileOffsetBackingStore(path)
store.start()
keys = [encode_key("c", {"p": str(n), "padding": "x" * 200}) for n in range(200)]

def dying(method):
    calls = iter(range(1, 1000))
    def call(*args, **more):
        if next(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*args, **more)
    return call

if die_in == "fsync":
    os.fsync = dying(os.fsync)
if die_in == "rename":
    Path.replace = dying(Path.replace)
for n in range(1, 50 if die_in else 1_000_000):
    store.set({key: b'{"n":%d}' % n for key in keys}).result()
    print(n, flush=True)
"""


def killed_writer(path: Path, die_in: str = "", at: int = 0, after: int = 0) -> int:
    """The last number that a writer said to be written before it was killed, by itself or ``after`` some numbers."""
    command = [sys.executable, "-c", WRITER, str(path), die_in, str(at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if after:
            for _ in range(after):
                process.stdout.readline()
            process.kill()
        lines = [line for line in process.stdout.read().split("\n")[:-1] if line]
        assert process.wait(30) == -signal.SIGKILL
    return int(lines[-1]) if lines else after


def numbers(path: Path) -> set[int]:
    """Of all 200 partitions; one number says that the file is of one write."""
    found = offsets_file.parse(path.read_bytes())
    assert len(found) == 200
    return {json.loads(value)["n"] for value in found.values()}


# Each write syncs the new file, and then the directory that has got its name.
@pytest.mark.parametrize(
    ("die_in", "at", "kept"),
    [("fsync", 7, 3), ("rename", 4, 3), ("fsync", 8, 4)],
    ids=["new file not on the disk", "not renamed", "renamed"],
)
def test_killed_in_the_middle_of_a_write(path: Path, opened: Open, die_in: str, at: int, kept: int) -> None:
    assert killed_writer(path, die_in, at) == 3
    assert numbers(path) == {kept}
    # What the crash left beside it does no harm.
    store = opened()
    assert {offset["n"] for offset in store.offsets_of("c").result(WAIT).values()} == {kept}
    write(store, more=1)


def test_a_full_disk_is_reported_until_there_is_space(
    path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    write(store, n=1)

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(offsets_file, "replace_file", full)
        with pytest.raises(RetriableError):
            write(store, n=2)
        assert store.trouble() == f"offset.storage.file.filename={path} cannot be written: No space left on device"
    write(store, n=3)
    assert store.trouble() is None


def test_offsets_reported_as_written_survive_a_kill_at_any_time(path: Path) -> None:
    for after in (1, 2, 3, 5, 8):
        said = killed_writer(path, after=after)
        (found,) = numbers(path)
        assert found in (said, said + 1)


def test_a_half_written_file_is_not_taken_for_a_whole_one(path: Path) -> None:
    killed_writer(path, after=1)
    with pytest.raises(DataError):
        offsets_file.parse(path.read_bytes()[: os.path.getsize(path) // 2])
