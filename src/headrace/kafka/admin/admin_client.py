# SPDX-License-Identifier: Apache-2.0
"""An admin client with what Python's clients lack. Java: ``org.apache.kafka.clients.admin.Admin``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from headrace.kafka.admin.fencing import FencedProducers, fence_producers

FENCING_TIMEOUT: Final = 60.0
"""Seconds, for all producers together."""


class AdminClient:
    """An admin client for workers, and for operators who fence a producer by hand. Thread-safe; holds no connection."""

    def __init__(self, props: Mapping[str, str]) -> None:
        """``props`` are Java's admin client properties: bootstrap.servers, security.protocol, sasl.*, ssl.* ..."""
        self._props = dict(props)

    def fence_producers(self, transactional_ids: Iterable[str], timeout: float = FENCING_TIMEOUT) -> FencedProducers:
        """Fence all producers with these transactional ids at once (KIP-618).

        An open transaction of theirs is aborted, and none of them can write any more (invariant 2). Blocks up to
        ``timeout`` seconds, which include brokers that are away and transactions that are just being ended. Raises
        nothing for an id that cannot be fenced: its result does, AuthorizationError for a principal without Write on
        the transactional id, RetriableError when the time is up.
        """
        return fence_producers(self._props, transactional_ids, timeout)
