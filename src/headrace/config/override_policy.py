# SPDX-License-Identifier: Apache-2.0
"""Which client properties a connector may override (KIP-458; KIP-1188 for ``Allowlist``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from headrace.api.errors import ConfigError
from headrace.config.base_config import BaseConfig

POLICY_PROPERTY: Final = "connector.client.config.override.policy"
ALLOWLIST_PROPERTY: Final = "connector.client.config.override.allowlist"
ALLOWLIST: Final = "Allowlist"
PRINCIPAL: Final = frozenset({"security.protocol", "sasl.jaas.config", "sasl.mechanism"})

DEFAULT_ALLOWLIST: Final = (
    *sorted(PRINCIPAL),
    *("client.id", "group.id", "request.timeout.ms", "retries", "retry.backoff.ms", "metadata.max.age.ms"),
    *("acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms", "linger.ms"),
    *("max.block.ms", "max.in.flight.requests.per.connection", "max.request.size", "transaction.timeout.ms"),
    *("auto.offset.reset", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "isolation.level"),
    *("max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "session.timeout.ms"),
)
"""Tuning and the principal, but nothing that leads a client to another cluster, to files or to code."""

IGNORED_ANYWAY: Final = frozenset({"transactional.id", "enable.idempotence"})
"""The worker sets these itself and warns of other values, whatever the policy."""

_ALLOWED: Final[Mapping[str, Callable[[str, frozenset[str]], bool]]] = {
    "All": lambda name, allowlist: True,
    "None": lambda name, allowlist: False,
    "Principal": lambda name, allowlist: name in PRINCIPAL,
    ALLOWLIST: lambda name, allowlist: name in allowlist,
}
POLICIES: Final = tuple(_ALLOWED)


def refused_overrides(worker: BaseConfig, names: Iterable[str]) -> list[str]:
    """Those of the client properties that the worker's policy lets no connector override."""
    allowed = _ALLOWED[worker.get(POLICY_PROPERTY)]
    allowlist = frozenset(worker.get(ALLOWLIST_PROPERTY))
    return [name for name in names if name not in IGNORED_ANYWAY and not allowed(name, allowlist)]


def client_overrides(worker: BaseConfig, connector_config: Mapping[str, str | None], client: str) -> dict[str, str]:
    """A connector's overrides for ``client`` (producer, consumer or admin). ConfigError if the policy refuses one."""
    prefix = f"{client}.override."
    given = {key[len(prefix) :]: text for key, text in connector_config.items() if key.startswith(prefix)}
    overrides = {name: text for name, text in given.items() if text is not None}
    for name in refused_overrides(worker, overrides):
        policy = worker.get(POLICY_PROPERTY)
        hint = f"; the worker can allow it by {ALLOWLIST_PROPERTY}" if policy == ALLOWLIST else ""
        reason = f"the worker's {POLICY_PROPERTY}={policy} does not allow this override{hint}"
        raise ConfigError.invalid(prefix + name, overrides[name], reason)
    return overrides
