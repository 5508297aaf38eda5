# SPDX-License-Identifier: Apache-2.0
"""The store of the cluster's configuration. Java: ``ConfigBackingStore``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from headrace.api.errors import RetriableError
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.storage.config_log import ConfigUpdate
from headrace.storage.config_writes import ConfigWrite

OnConfigUpdate = Callable[[ClusterConfigState, tuple[ConfigUpdate, ...]], None]
"""A listener for the state after a batch of changes, and for these changes, in order."""


class FencedLeaderError(RetriableError):
    """Another worker has become the leader, or this one never was: nothing was written.

    Claim the privileges again, if this worker is still the leader, and try again.
    """


class ConfigBackingStore(Protocol):
    """Every worker reads, only the leader writes (invariant 7).

    ``snapshot`` may be called from any thread and never blocks. All else blocks, at most about ``timeout`` seconds
    where there is one; writes come back when the change was written and read back. They raise FencedLeaderError without
    (or after the loss of) write privileges, RetriableError when Kafka does not answer: whether the change was made is
    then uncertain, the privileges are dropped, and the same write may be repeated once they are claimed again.
    """

    def snapshot(self) -> ClusterConfigState:
        """Return the state as last read."""

    def refresh(self, timeout: float) -> ClusterConfigState:
        """Return the state after everything that is written now."""

    def claim_write_privileges(self, timeout: float = 30.0) -> None:
        """Become the only writer; fences the former one. Does nothing if this store holds the privileges."""

    def release_write_privileges(self) -> None:
        """Give the privileges up; does nothing if they are not held."""

    def write(self, write: ConfigWrite) -> None:
        """Make one change, atomically."""
