# SPDX-License-Identifier: Apache-2.0
"""Sinks: how fast a topic becomes a file, and how soon a record becomes a line."""

from __future__ import annotations

import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from bench.measure import LINE_BYTES, Bench, Latency
from bench.processes import Usage, watched
from bench.topics import temporary_topic

FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PLAIN_SINK = "plain_sink.PlainSinkConnector"
_LOOK_S = 0.001


@dataclass(frozen=True, slots=True)
class SinkThroughput:
    """`records_per_s` from the first lines in the file to the last, `total_s` from the request to the last."""

    records_per_s: float
    total_s: float
    usage: Usage


@contextmanager
def full_topic(bootstrap_servers: str, records: int) -> Iterator[str]:
    """A topic of one partition with numbered records that make lines of 100 bytes, the line end included."""
    name = f"sink-{uuid.uuid4().hex[:8]}"
    with temporary_topic(bootstrap_servers, name):
        limits = {"queue.buffering.max.messages": 0, "queue.buffering.max.kbytes": 2_000_000, "linger.ms": 20}
        producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0, **limits})
        for start in range(0, records, 10_000):
            numbers = range(start, min(start + 10_000, records))
            producer.produce_batch(name, [{"value": b"%010d" % n + b"x" * (LINE_BYTES - 11)} for n in numbers])
            producer.poll(0)
        if producer.flush(120):
            raise RuntimeError("the topic to read from could not be filled")
        yield name


def throughput(bench: Bench, topic: str, records: int, connector_class: str) -> SinkThroughput:
    """How fast a new connector brings a whole topic into a file. Lost or surplus lines are an error."""
    name = f"throughput-{uuid.uuid4().hex[:8]}"
    file = bench.directory / f"{name}.txt"
    rest = bench.engine.rest
    with watched(bench.engine.pid) as usage:
        sent = rest.create(name, _config(connector_class, file, topic))
        try:
            first, first_size, last = _await_growth(file, records * LINE_BYTES)
        finally:
            rest.delete(name)
    lines = file.read_bytes().count(b"\n")
    file.unlink()
    if lines != records:
        raise RuntimeError(f"{bench.engine.name}: {lines} lines of {records} records")
    return SinkThroughput((records - first_size / LINE_BYTES) / (last - first), last - sent, usage)


def latency(bench: Bench, count: int, interval: float = 0.05) -> Latency:
    """From the send of a record, one every `interval` seconds, to its line in the file."""
    name = f"latency-{uuid.uuid4().hex[:8]}"
    file = bench.directory / f"{name}.txt"
    latencies: list[float] = []
    with temporary_topic(bench.bootstrap_servers, name):
        bench.engine.rest.create(name, _config(FILE_SINK, file, name))
        try:
            bench.engine.rest.wait_running(name)
            over = threading.Event()
            reader = threading.Thread(target=_follow, args=(file, latencies, over), daemon=True)
            reader.start()
            _send_times(bench.bootstrap_servers, name, count, interval, latencies)
            over.set()
            reader.join()
        finally:
            bench.engine.rest.delete(name)
    cuts = statistics.quantiles(latencies[10:], n=100, method="inclusive")
    return Latency(cuts[49], cuts[94], cuts[98], len(latencies))


def _config(connector_class: str, file: Path, topic: str) -> dict[str, str]:
    return {"connector.class": connector_class, "tasks.max": "1", "topics": topic, "file": str(file)}


def _await_growth(file: Path, size: int, timeout: float = 300) -> tuple[float, int, float]:
    """When the file began to grow, to what, and when it was complete."""
    deadline = time.monotonic() + timeout
    first, first_size = 0.0, 0
    while True:
        now_size, now = file.stat().st_size if file.exists() else 0, time.monotonic()
        if now_size and not first:
            first, first_size = now, now_size
        if now_size >= size:
            return first, first_size, now
        if now > deadline:
            raise RuntimeError(f"{file} has {now_size} of {size} bytes after {timeout:g} s")
        time.sleep(_LOOK_S)


def _send_times(bootstrap_servers: str, topic: str, count: int, interval: float, latencies: list[float]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 0})
    deadline = time.monotonic() + 60
    # The first one waits for the task to join its group.
    for number in range(count):
        producer.produce(topic, f"{time.time():.6f}")
        producer.poll(0)
        while number == 0 and not latencies and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        time.sleep(interval)
    producer.flush(10)
    while len(latencies) < count:
        if time.monotonic() > deadline + count * interval:
            raise RuntimeError(f"{len(latencies)} of {count} records became lines")
        time.sleep(0.01)


def _follow(file: Path, latencies: list[float], over: threading.Event) -> None:
    while not file.exists() and not over.is_set():
        time.sleep(_LOOK_S)
    rest = ""
    with file.open() as lines:
        while not over.is_set():
            read = lines.read()
            now = time.time()
            *whole, rest = (rest + read).split("\n")
            latencies += [(now - float(line)) * 1000 for line in whole]
            if not read:
                time.sleep(_LOOK_S)
