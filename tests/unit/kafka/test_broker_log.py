# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from headrace.broker.broker_log import written_from_now


def test_all_that_is_written_from_now_on_is_found(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("former\n")
    with written_from_now(log) as written, log.open("a") as file:
        assert written() == b""
        file.write("one\n")
        file.flush()
        assert written() == b"one\n"


def test_a_log_that_is_rolled_is_followed(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("former, and longer than what follows\n")
    with written_from_now(log) as written, log.open("a") as file:
        log.rename(tmp_path / "broker.log.1")
        file.write("one\n")
        file.flush()
        assert written() == b"one\n"
        log.write_text("two\n")
        assert written() == b"one\ntwo\n"


def test_a_log_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    with written_from_now(tmp_path / "broker.log") as written:
        assert written() == b""
