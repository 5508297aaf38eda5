# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.connectors.file_stream.followed_file import FileEvent, FollowedFile
from tests.unit.clock import Clock


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_it_follows_appends_from_its_position(tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, b"0123456789")
    file = FollowedFile(str(path), 4)
    assert file.read(3) == b"456"
    assert file.read(100) == b"789"
    assert file.read(100) is FileEvent.END
    append(path, b"more")
    assert file.read(100) == b"more"


def test_a_missing_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "f"
    file = FollowedFile(str(path), 0)
    assert file.read(10) is FileEvent.MISSING
    append(path, b"now")
    assert file.read(10) == b"now"


def test_a_file_shorter_than_the_position_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, b"abc")
    file = FollowedFile(str(path), 4)
    assert file.read(10) is FileEvent.TRUNCATED
    assert file.read(10) == b"abc"


def test_truncation_while_open(tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, b"abcdef")
    file = FollowedFile(str(path), 0)
    assert file.read(10) == b"abcdef"
    os.truncate(path, 0)
    append(path, b"xy")
    assert file.read(10) is FileEvent.TRUNCATED
    assert file.read(10) == b"xy"
    assert file.read(10) is FileEvent.END


def test_a_replaced_file_is_finished_before_the_new_one_begins(tmp_path: Path) -> None:
    path, clock = tmp_path / "f", Clock()
    append(path, b"old 1")
    file = FollowedFile(str(path), 0, clock)
    assert file.read(10) == b"old 1"
    path.rename(tmp_path / "f.1")
    append(path, b"new and longer")
    assert file.read(100) is FileEvent.END
    clock.now += 0.9
    append(tmp_path / "f.1", b"old 2")
    assert file.read(100) == b"old 2"
    assert file.read(100) is FileEvent.END
    clock.now += 0.9
    assert file.read(100) is FileEvent.END
    clock.now += 0.2
    assert file.read(100) is FileEvent.REPLACED
    assert file.read(100) == b"new and longer"


def test_what_is_unread(tmp_path: Path) -> None:
    path, clock = tmp_path / "f", Clock()
    file = FollowedFile(str(path), 2, clock)
    append(path, b"012345")
    assert file.unread() is None, "it is not open yet"
    assert file.read(1) == b"2" and file.unread() == 3
    path.rename(tmp_path / "f.1")
    assert file.unread() == 3
    append(path, b"new")
    assert file.unread() == 6
    assert file.read(10) == b"345" and file.unread() == 3
    os.truncate(tmp_path / "f.1", 0)
    assert file.unread() == 3, "what is gone is not unread"
    os.mkfifo(tmp_path / "pipe")
    pipe = FollowedFile(str(tmp_path / "pipe"), 0)
    assert pipe.read(1) is FileEvent.END and pipe.unread() is None
    for each in (file, pipe):
        each.close()


def test_a_file_removed_without_a_successor_stays_open(tmp_path: Path) -> None:
    path, clock = tmp_path / "f", Clock()
    append(path, b"old")
    file = FollowedFile(str(path), 0, clock)
    assert file.read(10) == b"old"
    path.unlink()
    assert file.read(10) is FileEvent.END
    clock.now += 100
    assert file.read(10) is FileEvent.END
    append(path, b"new")
    assert file.read(10) is FileEvent.END
    clock.now += 2
    assert file.read(10) is FileEvent.REPLACED
    assert file.read(10) == b"new"


def test_a_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"^File '.*' cannot be read: it is a directory$"):
        FollowedFile(str(tmp_path), 0).read(10)


def test_a_socket_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    os.mknod(path, stat.S_IFSOCK | 0o600)
    with pytest.raises(ConnectError):
        FollowedFile(str(path), 0).read(10)


def test_a_pipe_is_read_as_it_is_written_and_never_blocks(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    file = FollowedFile(str(path), 1_000_000)
    assert file.read(10) is FileEvent.END, "there is no writer yet"
    with path.open("wb", buffering=0) as writer:
        assert file.read(10) is FileEvent.END, "the writer has written nothing yet"
        writer.write(b"first")
        assert file.read(3) == b"fir"
        assert file.read(10) == b"st"
        assert file.read(10) is FileEvent.END
        writer.write(b"last words")
    assert file.read(20) == b"last words"
    assert file.read(10) is FileEvent.END
    with path.open("wb", buffering=0) as writer:
        writer.write(b"the next writer's")
        assert file.read(20) == b"the next writer's"
    file.close()


def test_a_pipe_that_is_replaced_by_another_one(tmp_path: Path) -> None:
    path, clock = tmp_path / "pipe", Clock()
    os.mkfifo(path)
    file = FollowedFile(str(path), 0, clock)
    assert file.read(10) is FileEvent.END
    with path.open("wb", buffering=0) as writer:
        path.unlink()
        os.mkfifo(path)
        assert file.read(10) is FileEvent.END
        writer.write(b"still there")
        assert file.read(20) == b"still there"
    clock.now += 2
    assert file.read(10) is FileEvent.REPLACED
    assert file.read(10) is FileEvent.END
    with path.open("wb", buffering=0) as writer:
        writer.write(b"new")
        assert file.read(10) == b"new"
    file.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    append(path, b"secret")
    path.chmod(0)
    with pytest.raises(ConnectError, match="Permission denied"):
        FollowedFile(str(path), 0).read(10)


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    append(tmp_path / "f", b"x")
    with pytest.raises(ConnectError, match="Not a directory"):
        FollowedFile(str(tmp_path / "f" / "g"), 0).read(10)
