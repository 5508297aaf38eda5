# SPDX-License-Identifier: Apache-2.0
"""A connector's overrides of client properties (KIP-458), and which of them are allowed by default.

Who decides is a plugin: ``headrace.plugins.override_policies``. What a worker runs has been through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

POLICY_PROPERTY: Final = "connector.client.config.override.policy"
ALLOWLIST_PROPERTY: Final = "connector.client.config.override.allowlist"
ALLOWLIST: Final = "Allowlist"
PRINCIPAL: Final = frozenset({"security.protocol", "sasl.jaas.config", "sasl.mechanism"})

DEFAULT_ALLOWLIST: Final = (
    *("client.id", "client.rack", "client.dns.lookup", "connections.max.idle.ms", "metadata.max.age.ms"),
    *("receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms"),
    *("retries", "retry.backoff.max.ms", "retry.backoff.ms", "send.buffer.bytes"),
    *("socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
    *("acks", "batch.size", "buffer.memory", "compression.gzip.level", "compression.lz4.level", "compression.type"),
    *("compression.zstd.level", "delivery.timeout.ms", "linger.ms", "max.block.ms"),
    *("max.in.flight.requests.per.connection", "max.request.size", "metadata.max.idle.ms", "transaction.timeout.ms"),
    *("allow.auto.create.topics", "auto.offset.reset", "check.crcs", "default.api.timeout.ms", "fetch.max.bytes"),
    *("fetch.max.wait.ms", "fetch.min.bytes", "group.id", "heartbeat.interval.ms", "isolation.level"),
    *("max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "session.timeout.ms"),
    *("group.protocol", "partition.assignment.strategy"),
)
"""Tuning. Nothing that leads a client to another cluster, makes it someone else, reads files, or loads classes."""

IGNORED_ANYWAY: Final = frozenset({"transactional.id", "enable.idempotence"})
"""The worker sets these itself and warns of other values, whatever the policy."""


def overrides_of(connector_config: Mapping[str, str | None], client: str) -> dict[str, str]:
    """A connector's overrides for ``client`` (producer, consumer or admin), prefix removed; refuses none."""
    prefix = f"{client}.override."
    return {
        key[len(prefix) :]: text
        for key, text in connector_config.items()
        if text is not None and key.startswith(prefix) and key != prefix
    }
