# SPDX-License-Identifier: Apache-2.0
"""The store of the cluster's configuration. Java: ``ConfigBackingStore``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.api.errors import RetriableError
from headrace.model.cluster_config_state import ClusterConfigState, Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState


class FencedLeaderError(RetriableError):
    """Another worker has become the leader, or this one never was: nothing was written.

    Claim the privileges anew, if this worker is still the leader, and try again.
    """


class ConfigBackingStore(Protocol):
    """Every worker reads, only the leader writes (invariant 7).

    ``snapshot`` may be called from any thread and never blocks. All else blocks, at most about ``timeout`` seconds
    where there is one; writes come back when the change was written and read back. They raise FencedLeaderError without
    (or after the loss of) write privileges, RetriableError when Kafka does not answer: whether the change was made is
    then uncertain, the privileges are dropped, and the same write may be repeated once they are claimed anew.
    """

    def start(self) -> None:
        """Read the whole log."""

    def stop(self) -> None: ...

    def snapshot(self) -> ClusterConfigState:
        """Return the state as last read."""

    def refresh(self, timeout: float) -> ClusterConfigState:
        """Return the state after everything that is written now."""

    def claim_write_privileges(self, timeout: float = 30.0) -> None:
        """Become the only writer; fences the former one. Does nothing if this store holds the privileges."""

    def release_write_privileges(self) -> None:
        """Give the privileges up; does nothing if they are not held."""

    def put_connector(self, name: str, config: Config, target_state: TargetState | None = None) -> None:
        """Create or configure a connector, together with its target state where one is given."""

    def remove_connector(self, name: str, *, with_offsets: bool = False) -> None:
        """Remove every record about a connector; ``with_offsets``: note that its offsets are to be deleted as well."""

    def put_offsets_deleted(self, name: str) -> None:
        """Record that the offsets of a connector that was removed with them are deleted."""

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> None:
        """Replace the connector's tasks by as many as there are ``configs``."""

    def put_target_state(self, name: str, state: TargetState) -> None:
        """Change the target state; STOPPED removes the connector's tasks at the same moment (KIP-875)."""

    def put_task_count_record(self, name: str, tasks: int) -> None:
        """Record the number of producers for the next round of zombie fencing, after a round (KIP-618)."""

    def put_session_key(self, key: SessionKey) -> None: ...

    def put_restart_request(self, name: str, *, only_failed: bool, include_tasks: bool) -> None: ...

    def put_task_restart_request(self, id: ConnectorTaskId) -> None: ...

    def put_logger_level(self, logger: str, level: str) -> None: ...
