# SPDX-License-Identifier: Apache-2.0
"""A client's own figures, by the names of Java's clients, from librdkafka's statistics.

librdkafka hands them over as JSON of some kilobytes, once an interval, within a poll of the client. What it measures
but Java's client does not is left out. Source: librdkafka's STATISTICS.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.metrics.client_metrics import CONSUMER, COORDINATOR, FETCHES, PRODUCER
from headrace.metrics.connect_metric import tagged


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """Has a client report its figures every ``interval`` seconds, to ``report``, on the thread that polls the client.

    A client that is not polled keeps what it did not report yet in memory.
    """

    interval: float = 1.0
    report: Callable[[Mapping[str, float]], None] = lambda figures: None

    def of_producer(self) -> dict[str, Any]:
        """Return the properties for a producer."""
        return self._properties(_producer_figures)

    def of_consumer(self, heard: Callable[[Mapping[str, Any]], None] = lambda statistics: None) -> dict[str, Any]:
        """Return the properties for a consumer; ``heard`` is called with librdkafka's statistics, too."""
        return self._properties(_consumer_figures, heard)

    def _properties(
        self,
        figures: Callable[[Mapping[str, Any]], dict[str, float]],
        heard: Callable[[Mapping[str, Any]], None] = lambda statistics: None,
    ) -> dict[str, Any]:
        def on_statistics(text: str) -> None:
            statistics = json.loads(text)
            heard(statistics)
            self.report(figures(statistics))

        return {"statistics.interval.ms": round(self.interval * 1000), "stats_cb": on_statistics}


class StableEnds:
    """The last stable offsets of a consumer's partitions as of its last statistics: no transaction before them is open.

    librdkafka reports them by no other call. ``update`` is called on the thread that polls, ``of`` on any.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[str, int], int] = {}

    def update(self, statistics: Mapping[str, Any]) -> None:
        """Replace all ends by those of librdkafka's statistics."""
        self._ends = {
            (topic["topic"], partition["partition"]): partition["ls_offset"]
            for topic in statistics["topics"].values()
            for partition in topic["partitions"].values()
            if partition["ls_offset"] >= 0
        }

    def of(self, where: tuple[str, int]) -> int | None:
        """Return the end of a partition; None while it is not known."""
        return self._ends.get(where)


def _producer_figures(statistics: Mapping[str, Any]) -> dict[str, float]:
    brokers, topics = statistics["brokers"].values(), statistics["topics"].values()
    figures = {
        **_connections(statistics),
        "record-send-total": statistics["txmsgs"],
        "byte-total": statistics["txmsg_bytes"],
        "record-retry-total": sum(broker["txretries"] for broker in brokers),
        **_window("request-latency", [broker["rtt"] for broker in brokers], 1000),
        **_window("record-queue-time", [broker["int_latency"] for broker in brokers], 1000),
        **_window("batch-size", [topic["batchsize"] for topic in topics], 1),
    }
    return _named(PRODUCER, statistics, figures)


def _consumer_figures(statistics: Mapping[str, Any]) -> dict[str, float]:
    fetches = {
        "records-consumed-total": statistics["rxmsgs"],
        "bytes-consumed-total": statistics["rxmsg_bytes"],
        **_window("fetch-latency", [broker["rtt"] for broker in statistics["brokers"].values()], 1000),
    }
    group = statistics.get("cgrp", {})
    coordinator = {
        "assigned-partitions": group.get("assignment_size", 0),
        "rebalance-total": group.get("rebalance_cnt", 0),
    }
    return {
        **_named(CONSUMER, statistics, _connections(statistics)),
        **_named(FETCHES, statistics, fetches),
        **_named(COORDINATOR, statistics, coordinator),
    }


def _connections(statistics: Mapping[str, Any]) -> dict[str, float]:
    return {
        "connection-count": sum(broker["state"] == "UP" for broker in statistics["brokers"].values()),
        "outgoing-byte-total": statistics["tx_bytes"],
        "incoming-byte-total": statistics["rx_bytes"],
        "request-total": statistics["tx"],
        "response-total": statistics["rx"],
    }


def _window(name: str, windows: Iterable[Mapping[str, Any]], divisor: int) -> dict[str, float]:
    """Return average and maximum of several windows of an interval together; nothing if there was no value in it."""
    full = [window for window in windows if window["cnt"]]
    count = sum(window["cnt"] for window in full)
    if not count:
        return {}
    total = sum(window["avg"] * window["cnt"] for window in full)
    return {f"{name}-avg": total / count / divisor, f"{name}-max": max(window["max"] for window in full) / divisor}


def _named(group: str, statistics: Mapping[str, Any], figures: Mapping[str, float]) -> dict[str, float]:
    client_id = str(statistics["client_id"])
    return {tagged(group, name, client_id=client_id): float(value) for name, value in figures.items()}
