# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from headrace.config.engine_config import ConsoleLimits
from headrace.spark.engine.console_log import BoundedLog, Console


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "console.log"


def files(file: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(file.parent.iterdir())}


def test_what_is_printed_is_there(file: Path, clock: Clock) -> None:
    log = BoundedLog(file, ConsoleLimits(100, 3), clock)
    log.write(b"one\n")
    log.write(b"two\n")
    assert files(file) == {"console.log": "one\ntwo\n"}


def test_a_minute_has_its_share_and_what_is_dropped_is_reported(file: Path, clock: Clock) -> None:
    log = BoundedLog(file, ConsoleLimits(200, 2), clock)
    log.write(b"x" * 90)
    log.write(b"y" * 1_000)
    log.write(b"z" * 1_000)
    assert "x" * 90 + "y" * 110 in "".join(files(file).values())
    assert "more than 200 bytes in a minute: what comes now is dropped" in files(file)["console.log"]
    clock.now = 60.0
    log.write(b"later\n")
    assert files(file)["console.log"].endswith("[headrace] 1890 bytes were dropped\nlater\n")
    assert "z" not in "".join(files(file).values())


def test_files_are_rotated_and_a_removal_is_reported(file: Path, clock: Clock) -> None:
    log = BoundedLog(file, ConsoleLimits(200, 3), clock)
    for number in range(20):
        clock.now += 61
        log.write(f"{number} ".encode() + b"x" * 120 + b"\n")
        assert sum(each.stat().st_size for each in file.parent.iterdir()) <= 600
    assert set(files(file)) == {"console.log", "console.log.1", "console.log.2"}
    assert "bytes of older output were removed" in files(file)["console.log"]
    assert "19 xxx" in files(file)["console.log"]


def test_one_file_is_enough(file: Path, clock: Clock) -> None:
    log = BoundedLog(file, ConsoleLimits(200, 1), clock)
    for _ in range(5):
        clock.now += 61
        log.write(b"x" * 120)
    assert set(files(file)) == {"console.log"}
    assert file.stat().st_size <= 200


def test_a_new_process_begins_a_new_file(file: Path, clock: Clock) -> None:
    BoundedLog(file, ConsoleLimits(100, 3), clock).write(b"first")
    BoundedLog(file, ConsoleLimits(100, 3), clock).write(b"second")
    assert files(file) == {"console.log": "second", "console.log.1": "first"}


def test_what_the_disk_does_not_take_is_reported_later(file: Path, clock: Clock) -> None:
    log = BoundedLog(file, ConsoleLimits(100, 3), clock)
    file.mkdir()
    log.write(b"lost")
    file.rmdir()
    log.close()
    assert "4 bytes were dropped" in file.read_text()


def test_a_pipe_is_read_to_its_end_and_logged(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reading, writing = os.pipe()
    console = Console(os.fdopen(reading, "rb", 0), file, ConsoleLimits(100, 3))
    os.write(writing, b"WARNING: Using incubator modules\nlast words")
    os.close(writing)
    console.await_end(10)
    assert file.read_text() == "WARNING: Using incubator modules\nlast words"
    assert caplog.messages == ["printed: last words"]
