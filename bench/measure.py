# SPDX-License-Identifier: Apache-2.0
"""The measurements. Each speaks to a worker by REST and to the broker only, so it is the same for every engine."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from confluent_kafka import Message

from bench.engines import Engine
from bench.processes import Usage, watched
from bench.topics import await_first, await_growth, count_records, first_value, receiving, temporary_topic

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
VERIFIABLE_SOURCE = "org.apache.kafka.connect.tools.VerifiableSourceConnector"
LINE_BYTES = 100


@dataclass(frozen=True, slots=True)
class Throughput:
    """`records_per_s` after the first transaction up to the last, `total_s` from the request to the last record."""

    records_per_s: float
    total_s: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the birth of a record to its arrival at a read_committed consumer."""

    p50: float
    p95: float
    p99: float
    count: int


@dataclass(frozen=True, slots=True)
class Bench:
    """One engine on one broker, with a directory for files."""

    engine: Engine
    bootstrap_servers: str
    directory: Path

    def throughput(
        self, file: Path, lines: int, properties: dict[str, str], expected_first: bytes | None = None
    ) -> Throughput:
        """How fast a new connector brings a whole file into a topic.

        Lost or surplus records are an error, and a first value other than `expected_first`, if that is given.
        """
        name = _unique("throughput")
        rest = self.engine.rest
        config = file_source(file, name) | {"batch.size": "2000"} | properties
        with temporary_topic(self.bootstrap_servers, name), watched(self.engine.pid) as usage:
            sent = rest.create(name, config)
            try:
                growth = await_growth(self.bootstrap_servers, name, 300, lambda: rest.tasks_running(name))
            finally:
                rest.delete(name)
            counted = count_records(self.bootstrap_servers, name, lines)
            if expected_first is not None:
                self._check_first(name, expected_first)
        if counted != lines:
            raise RuntimeError(f"{self.engine.name}: {counted} records of {lines} lines")
        total = growth.last - sent
        remaining = growth.last - growth.first
        # What the first transaction brought was read before it became visible, so its time is not known. If that was
        # most of the file, the rest is a wait for the next interval's end: then the time from the request on counts.
        rate = lines / total if growth.first_records * 2 > lines else (lines - growth.first_records) / remaining
        return Throughput(rate, total, usage)

    def _check_first(self, topic: str, expected: bytes) -> None:
        found = first_value(self.bootstrap_servers, topic)
        if found != expected:
            raise RuntimeError(f"{self.engine.name}: the first record's value is {found!r}, not {expected!r}")

    def create_to_first_record(self) -> float:
        """Seconds from the request that creates a connector to its first visible record."""
        name = _unique("first")
        file = self.directory / f"{name}.txt"
        file.write_text("a line\n" * 10)
        with temporary_topic(self.bootstrap_servers, name):
            sent = self.engine.rest.create(name, file_source(file, name))
            try:
                return await_first(self.bootstrap_servers, name) - sent
            finally:
                self.engine.rest.delete(name)

    def line_latency(self, count: int, interval: float = 0.05, properties: dict[str, str] | None = None) -> Latency:
        """Latency of single lines appended to a file, one every `interval` seconds, each bearing its time of birth."""
        name = _unique("line")
        file = self.directory / f"{name}.txt"
        file.touch()
        latencies: list[float] = []

        def receive(message: Message, now: float) -> None:
            latencies.append((now - float(_text(message))) * 1000)

        with temporary_topic(self.bootstrap_servers, name):
            self.engine.rest.create(name, file_source(file, name) | (properties or {}))
            try:
                self.engine.rest.wait_running(name)
                with receiving(self.bootstrap_servers, name, receive), file.open("a") as appended:
                    _append_lines(appended, count, interval)
                    _await_count(latencies, count)
            finally:
                self.engine.rest.delete(name)
        return _latency(latencies[10:])

    def verifiable_latency(self, count: int, per_second: int = 20) -> Latency:
        """Latency of records that VerifiableSource makes at a steady rate, from the time the producer took them."""
        name = _unique("verifiable")
        latencies: list[float] = []

        def receive(message: Message, now: float) -> None:
            latencies.append(now * 1000 - message.timestamp()[1])

        config = {
            "connector.class": VERIFIABLE_SOURCE,
            "tasks.max": "1",
            "topic": name,
            "throughput": str(per_second),
        }
        with temporary_topic(self.bootstrap_servers, name), receiving(self.bootstrap_servers, name, receive):
            self.engine.rest.create(name, config)
            try:
                _await_count(latencies, count, timeout=30 + 2 * count / per_second)
            finally:
                self.engine.rest.delete(name)
        return _latency(latencies[10:count])

    def idle(self, connectors: int, seconds: float) -> Usage:
        """What `connectors` cost that have nothing to do, for `seconds` after ten of settling."""
        names = [_unique("idle") for _ in range(connectors)]
        quiet = self.directory / "quiet.txt"
        quiet.touch()
        try:
            for name in names:
                self.engine.rest.create(name, file_source(quiet, name))
            for name in names:
                self.engine.rest.wait_running(name, timeout=120)
            time.sleep(10)
            with watched(self.engine.pid) as usage:
                time.sleep(seconds)
            return usage
        finally:
            for name in names:
                self.engine.rest.delete(name)


def file_source(file: Path, topic: str) -> dict[str, str]:
    """The configuration of a FileStreamSource, understood by both engines."""
    return {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": topic}


def write_lines(path: Path, lines: int) -> Path:
    """A file of `lines` numbered lines of 100 bytes, the line end included."""
    filling = "The quick brown fox jumps over the lazy dog while nine zebras calmly watch from the old stone wall."
    with path.open("w") as file:
        for number in range(lines):
            file.write(f"{number:010d} {filling}"[: LINE_BYTES - 1] + "\n")
    return path


def _append_lines(file: TextIO, count: int, interval: float) -> None:
    due = time.monotonic()
    for _ in range(count):
        file.write(f"{time.time():.6f}\n")
        file.flush()
        due += interval
        time.sleep(max(0.0, due - time.monotonic()))


def _await_count(received: list[float], count: int, timeout: float = 30) -> None:
    deadline = time.monotonic() + timeout
    while len(received) < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"received {len(received)} of {count} records")
        time.sleep(0.05)


def _text(message: Message) -> str:
    """The string value, whether by StringConverter or by JsonConverter with a schema."""
    value = message.value()
    assert value is not None
    text = value.decode()
    return str(json.loads(text)["payload"]) if text.startswith('{"schema"') else text


def _latency(values: list[float]) -> Latency:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return Latency(cuts[49], cuts[94], cuts[98], len(values))


def _unique(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:8]}"
