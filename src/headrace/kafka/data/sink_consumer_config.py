# SPDX-License-Identifier: Apache-2.0
"""The configuration of a sink task's consumer, as librdkafka has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.kafka.clients.client_config import consumer_config

_STRATEGY: Final = "partition.assignment.strategy"
# Java's consumer asks again as soon as there is room, and holds little; librdkafka waits for a second, and holds 64 MB.
_DEFAULTS: Final = {
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 32_768,
    _STRATEGY: "range",
}
_NOT_FOR_CONSUMER_PROTOCOL: Final = (_STRATEGY, "session.timeout.ms", "heartbeat.interval.ms")


def sink_consumer_config(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's properties for Java's, without what the group protocol of KIP-848 refuses.

    That protocol assigns on the broker.
    """
    config = {**_DEFAULTS, **consumer_config(props)}
    if _uses_consumer_protocol(config):
        return {name: value for name, value in config.items() if name not in _NOT_FOR_CONSUMER_PROTOCOL}
    return config


def assigns_incrementally(config: Mapping[str, Any]) -> bool:
    """Return True if rebalances add and remove single partitions; else each replaces the whole assignment."""
    return _uses_consumer_protocol(config) or config[_STRATEGY] == "cooperative-sticky"


def max_poll_interval(config: Mapping[str, Any]) -> float:
    """Return the seconds between two polls after which the group removes the consumer."""
    return int(config.get("max.poll.interval.ms", 300_000)) / 1000


def _uses_consumer_protocol(config: Mapping[str, Any]) -> bool:
    return config.get("group.protocol") == "consumer"
