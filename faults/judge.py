# SPDX-License-Identifier: Apache-2.0
"""Reads all that a run has left behind, and judges it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from faults import checks
from faults.checks import Marked
from faults.cluster import NAME, OFFSETS_TOPIC, Cluster
from faults.history import Batch, Outcome, Transaction, Visible, committed, transactions
from faults.segments import batches
from headrace.broker.broker_files import storage_directory


@dataclass(frozen=True, slots=True)
class Judgement:
    """The figures of a run, and all that is wrong with it."""

    records: int
    committed: int
    aborted: int
    writers: int
    """Producers that committed: attempts of tasks, in other words."""
    longest_pause: float
    """Seconds in which one partition got no record."""
    problems: tuple[str, ...]


def judge(cluster: Cluster) -> Judgement:
    """When nothing is written any more."""
    logs = {number: list(_batches(cluster, NAME, number)) for number in range(cluster.partitions)}
    data = {number: transactions(log) for number, log in logs.items()}
    seen = visible(cluster)
    offsets = offset_records(cluster)
    reported = cluster.offsets_reported()
    problems = []
    for number, found in data.items():
        last = offsets[number][-1][1] if offsets[number] else -1
        wrong = [
            *checks.numbers(seen[number], last),
            *checks.prefixes(seen[number], found, offsets[number]),
            *checks.visibility(seen[number], found),
            *checks.one_writer(found),
            *checks.none_open(found),
        ]
        if reported is not None and reported.get(number, -1) != last:
            wrong.append(f"the REST API reports offset {reported.get(number)}, but {last} is committed")
        problems += [f"partition {number}: {problem}" for problem in wrong]
    if reported is None:
        problems.append("the REST API does not report the offsets")
    done = [one for found in data.values() for one in found]
    return Judgement(
        records=sum(len(partition.offsets) for partition in seen.values()),
        committed=len(committed(done)),
        aborted=sum(one.outcome is Outcome.ABORT for one in done),
        writers=len({one.producer for one in committed(done)}),
        longest_pause=max(map(_longest_pause, logs.values())),
        problems=tuple(problems),
    )


def visible(cluster: Cluster) -> dict[int, Visible]:
    """The topic as a read_committed consumer sees it; values that are no numbers count as aborted."""
    found = {number: Visible() for number in range(cluster.partitions)}
    for message in _messages(cluster, NAME, cluster.partitions):
        value = message.value() or b""
        seqno = int(value) if value.lstrip(b"-").isdigit() else -1
        found[message.partition() or 0].add(message.offset() or 0, seqno)
    return found


def offset_records(cluster: Cluster) -> Mapping[int, list[Marked]]:
    """For each source partition the visible offset records in order, with the producers that wrote them."""
    partitions = 3
    writers = {number: _writers(transactions(_batches(cluster, OFFSETS_TOPIC, number))) for number in range(partitions)}
    found: dict[int, list[Marked]] = defaultdict(list)
    for message in _messages(cluster, OFFSETS_TOPIC, partitions):
        connector, source = json.loads(message.key() or b"[null,null]")
        if connector == NAME:
            writer = writers[message.partition() or 0].get(message.offset() or 0, (-1, -1))
            found[source["partition"]].append((writer, json.loads(message.value() or b"{}")["seqno"]))
    return found


def _writers(found: list[Transaction]) -> dict[int, tuple[int, int]]:
    return {
        offset: one.producer
        for one in committed(found)
        for first, last in one.spans
        for offset in range(first, last + 1)
    }


def _batches(cluster: Cluster, topic: str, partition: int) -> Iterator[Batch]:
    directory: Path = storage_directory(cluster.broker.data_dir) / f"{topic}-{partition}"
    return batches(directory)


def _longest_pause(log: list[Batch]) -> float:
    times = [batch.timestamp for batch in log if batch.outcome is None]
    return max((later - sooner for sooner, later in pairwise(times)), default=0) / 1000


def _messages(cluster: Cluster, topic: str, partitions: int) -> Iterator[Message]:
    """All visible records, in the order of each partition, to the ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.broker.bootstrap_servers,
            "group.id": "faults-judge",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        ended: set[int] = set()
        while len(ended) < partitions:
            for message in consumer.consume(10_000, 1.0):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
