# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.spark.engine.runtime_directory import VARIABLE, RuntimeDirectory, remove_leftovers, scratch_directories
from headrace.spark.task.spark_task_launcher import _runtime_directory

OWNER = """
import sys
from pathlib import Path
from headrace.spark.engine.runtime_directory import RuntimeDirectory
directory = RuntimeDirectory(Path(sys.argv[1]))
print(directory.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a directory of its own."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


Sleeper = Callable[[Path], subprocess.Popen[bytes]]


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    """Starts a process that belongs to a directory."""
    with ExitStack() as stack:

        def start(directory: Path) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(["sleep", "600"], env={**os.environ, VARIABLE: str(directory)})
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield start


def test_only_this_user_may_enter_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directory = RuntimeDirectory(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    directory.remove()
    directory.remove()
    assert not directory.path.exists()


def test_a_living_process_keeps_what_is_its_own(
    owner: tuple[subprocess.Popen[str], Path], sleeper: Sleeper, tmp_path: Path
) -> None:
    process = sleeper(owner[1])
    with RuntimeDirectory(tmp_path) as own:
        remove_leftovers(tmp_path)
        assert own.path.is_dir() and owner[1].is_dir()
        assert process.poll() is None


def test_what_a_killed_process_left_is_removed(
    owner: tuple[subprocess.Popen[str], Path], sleeper: Sleeper, tmp_path: Path
) -> None:
    process, directory = owner
    (directory / "local" / "blockmgr-1").mkdir(parents=True)
    left, below = sleeper(directory), sleeper(directory / "jvm-1")
    others = [sleeper(tmp_path / "headrace-another"), sleeper(tmp_path / f"{directory.name}-another")]
    process.kill()
    process.wait()
    remove_leftovers(tmp_path)
    assert not directory.exists()
    assert left.wait(5) == below.wait(5) == -signal.SIGKILL
    assert [other.poll() for other in others] == [None, None]


def test_what_is_not_proved_to_be_dead_stays(tmp_path: Path) -> None:
    (tmp_path / "headrace-unmarked").mkdir(mode=0o700)
    (tmp_path / "headrace-open").mkdir()
    (tmp_path / "headrace-open").chmod(0o777)
    (tmp_path / "headrace-open" / "owner").touch()
    (tmp_path / "precious").mkdir(mode=0o700)
    (tmp_path / "precious" / "owner").touch()
    (tmp_path / "headrace-link").symlink_to(tmp_path / "precious")
    (tmp_path / "headrace-file").touch()
    (tmp_path / "headrace-lead").mkdir(mode=0o700)
    (tmp_path / "headrace-lead" / "owner").symlink_to(tmp_path / "precious" / "owner")
    before = sorted(tmp_path.rglob("*"))
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_scratch_directories_are_made_in_each_place_or_in_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    first, second = scratch_directories(f"{tmp_path / 'a' / 'b'}, {tmp_path / 'c'}")
    assert (first.path.parent, second.path.parent) == (tmp_path / "a" / "b", tmp_path / "c")
    assert {(tmp_path / made).stat().st_mode & 0o777 for made in ("a", "a/b", "c")} == {0o700}, "whatever the umask"
    assert scratch_directories("") == []
    assert scratch_directories(f"{tmp_path / 'd'},{tmp_path / 'file'}") == []
    assert not any((tmp_path / "d").iterdir())


def test_a_directory_that_cannot_be_marked_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        RuntimeDirectory(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_without_room_for_one_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with pytest.raises(ConnectError, match=r"No directory for temporary files.*by TMPDIR"):
        _runtime_directory()
