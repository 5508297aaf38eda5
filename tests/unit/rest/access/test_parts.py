# SPDX-License-Identifier: Apache-2.0
"""Files that are read again, failures that are counted, and the record of decisions."""

from __future__ import annotations

import json
import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.main import app
from headrace.rest.access.audit_log import AuditLog, broken_lines
from headrace.rest.access.authentication import FailureLimit
from headrace.rest.watched_files import WatchedFiles
from tests.unit.clock import Clock


def read(path: str) -> int:
    try:
        return int(Path(path).read_text())
    except ValueError as error:
        raise ConfigError(f"not a number: {error}") from error


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "f", Clock()
    path.write_text("1")
    file = WatchedFiles([str(path)], lambda: read(str(path)), clock)
    path.write_text("22")
    assert file.get() == 1, "it is looked at once a second"
    clock.now += 1
    assert file.get() == 22
    clock.now += 1
    path.write_text("nonsense")
    assert file.get() == 22
    clock.now += 1
    path.unlink()
    path.with_suffix(".new").write_text("333")
    os.replace(path.with_suffix(".new"), path)
    assert file.get() == 333


def test_whatever_the_reading_of_a_change_raises_the_former_stays(tmp_path: Path) -> None:
    path, clock = tmp_path / "f", Clock()
    path.write_text("1")
    file = WatchedFiles([str(path)], lambda: 1 // int(path.read_text()), clock)
    path.write_text("00")
    clock.now += 1
    assert (file.get(), file.get()) == (1, 1)


def test_a_file_that_cannot_be_used_at_first_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(ConfigError, match="not a number"):
        WatchedFiles([], lambda: read(str(tmp_path / "f")))


def test_an_address_that_fails_too_often_has_to_wait() -> None:
    clock = Clock()
    limit = FailureLimit(2, clock)
    limit.failed("a")
    assert limit.wait("a") == 0
    limit.failed("a")
    assert (limit.wait("a"), limit.wait("b")) == (60, 0)
    clock.now += 59.5
    assert limit.wait("a") == 1
    clock.now += 0.5
    assert limit.wait("a") == 0
    limit.failed("a")
    assert limit.wait("a") == 0


def test_a_network_of_ipv6_is_one_party() -> None:
    limit = FailureLimit(2, Clock())
    for address in ("2001:db8::1", "2001:db8::2"):
        limit.failed(address)
    assert limit.wait("2001:db8::ffff") == 60
    assert limit.wait("2001:db8:0:1::1") == 0


def test_addresses_cannot_fill_the_memory() -> None:
    limit = FailureLimit(1, Clock())
    for number in range(10_001):
        limit.failed(str(number))
    assert len(limit._failures) == 10_000
    assert limit.wait("0") == 0 and limit.wait("10000") == 60


def test_a_change_of_the_record_shows(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for start in (0, 2):  # the chain goes on after a start
        log = AuditLog(str(path), chain=True, clock=lambda: 1.5)
        for number in (start, start + 1):
            log.write({"user": f"u{number}"})
        log.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["user"] for entry in entries] == ["u0", "u1", "u2", "u3"]
    assert entries[0]["time"] == "1970-01-01T00:00:01.500Z"
    assert broken_lines(str(path)) == []
    whole = path.read_bytes().splitlines(keepends=True)
    for spoilt, broken in (
        ([whole[0].replace(b"u0", b"ux"), *whole[1:]], [2]),
        ([whole[0], *whole[2:]], [2]),
        ([*whole[:2], b"rubbish\n", *whole[2:]], [3, 4]),
    ):
        path.write_bytes(b"".join(spoilt))
        assert broken_lines(str(path)) == broken


def test_the_command_that_verifies(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), chain=True)
    log.write({"user": "a"})
    log.write({"user": "b"})
    assert CliRunner().invoke(app, ["audit", "verify", str(path)]).output == f"{path}: the chain is whole\n"
    path.write_text(path.read_text().replace('"a"', '"x"'))
    spoilt = CliRunner().invoke(app, ["audit", "verify", str(path)])
    assert (spoilt.exit_code, "broken before line 2" in spoilt.output) == (1, True)
    assert CliRunner().invoke(app, ["audit", "verify", str(tmp_path / "none")]).exit_code == 2


def test_what_cannot_be_put_on_record_is_an_error() -> None:
    log = AuditLog("/dev/full", chain=False)
    with pytest.raises(ConnectError, match=r"rest.audit.file=/dev/full cannot be written to: No space left"):
        log.write({"user": "a"})


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """As on a disk that is nearly full, files grow to this size and no further."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_that_fits_only_in_part_is_not_there_at_all(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), chain=True)
    log.write({"user": "a"})
    with (
        room_for(path.stat().st_size + 20),
        pytest.raises(ConnectError, match="No space left on device; no request is answered"),
    ):
        log.write({"user": "b"})
    log.write({"user": "c"})
    assert [json.loads(line)["user"] for line in path.read_text().splitlines()] == ["a", "c"]
    assert broken_lines(str(path)) == []


def test_what_was_written_in_part_gets_an_end(tmp_path: Path) -> None:
    """As a machine that goes down leaves it: it shows, and the lines after it are whole."""
    path = tmp_path / "audit.jsonl"
    for user in ("a", "b"):
        log = AuditLog(str(path), chain=True)
        log.write({"user": user})
        log.close()
        with path.open("ab") as file:
            file.write(b'{"user": "cut off')
    log = AuditLog(str(path), chain=True)
    log.write({"user": "c"})
    log.close()
    assert [json.loads(line)["user"] for line in path.read_text().splitlines()[::2]] == ["a", "b", "c"]
    assert broken_lines(str(path)) == [2, 4]


@pytest.mark.parametrize("length", [1, 65_000, 65_536, 300_000])
def test_the_chain_goes_on_behind_long_lines(tmp_path: Path, length: int) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(3):
        log = AuditLog(str(path), chain=True)
        log.write({"path": "x" * length})
        log.close()
    assert broken_lines(str(path)) == []


def test_a_chain_is_of_one_worker_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.jsonl")
    first = AuditLog(path, chain=True)
    with pytest.raises(ConfigError, match=r"rest.audit.file.*another worker writes a chain there"):
        AuditLog(path, chain=True)
    first.close()
    AuditLog(path, chain=True).close()


@pytest.mark.parametrize("take_away", [lambda path: path.rename(path.with_suffix(".1")), lambda path: path.unlink()])
def test_a_record_that_is_taken_away_is_begun_again(tmp_path: Path, take_away: Callable[[Path], object]) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), chain=True)
    log.write({"user": "a"})
    take_away(path)
    for user in ("b", "c"):
        log.write({"user": user})
    log.close()
    assert [json.loads(line)["user"] for line in path.read_text().splitlines()] == ["b", "c"]
    assert [broken_lines(str(each)) for each in tmp_path.iterdir()] == [[]] * len(list(tmp_path.iterdir()))


def test_lines_of_two_workers_stay_whole_without_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "audit.jsonl", os.write
    logs = [AuditLog(str(path), chain=False) for _ in range(2)]
    for log in logs:
        log.write({"user": "a"})

    def other_writes_behind(fd: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", real)
        written = real(fd, data[:10])
        logs[1].write({"user": "b"})
        return written

    monkeypatch.setattr(os, "write", other_writes_behind)
    with pytest.raises(ConnectError, match="No space left"):
        logs[0].write({"user": "c"})
    assert path.read_text().splitlines()[2].endswith('"user": "b"}')


def test_no_value_makes_a_second_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), chain=True)
    for text in ("a\nb", "a\r\n{}", "a\u2028b\x85c", "\ud800", '"}\n{"user": "root"}'):
        log.write({"user": text})
    log.close()
    entries = path.read_bytes().split(b"\n")
    assert len(entries) == 6 and entries[-1] == b""
    assert broken_lines(str(path)) == []


def test_half_a_line_that_cannot_be_cut_off_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that may only grow (chattr +a), and one whose machine crashed."""
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), chain=False)
    log.write({"user": "a"})

    def refuse(fd: int, size: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with room_for(path.stat().st_size + 20), pytest.raises(ConnectError, match="No space left"):
        log.write({"user": "b"})
    log.write({"user": "c"})
    with path.open("ab") as file:
        file.write(b'{"time": "20')
    AuditLog(str(path), chain=False).write({"user": "d"})
    lines = path.read_text().splitlines()
    assert len(lines) == 5
    assert [json.loads(lines[number])["user"] for number in (0, 2, 4)] == ["a", "c", "d"]


def test_a_record_that_cannot_be_written_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rest.audit.file.*cannot be written"):
        AuditLog(str(tmp_path / "none" / "f"), chain=False)
