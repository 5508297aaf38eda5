# SPDX-License-Identifier: Apache-2.0
"""Other workers' requests to a herder through REST, beside those of users. Java: ``InternalClusterResource``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from headrace.model.cluster_config_state import Config, SessionKey


class ClusterHerder(Protocol):
    """As ``Herder``: called from any thread, blocks nobody. A follower's futures raise ``NotLeaderError``."""

    def signed(self) -> bool:
        """Return true if such requests have to be signed: not in groups with a member that cannot (KIP-507)."""

    def session_key(self) -> SessionKey | None:
        """Return the key to sign requests with; None while it was not read, or none exists yet."""

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        """Write task configs of a connector on another worker; the future ends when the config topic has them."""

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        """Write a level for the whole cluster (KIP-976); the future ends when the config topic has it."""

    def fence_zombies(self, name: str) -> Future[None]:
        """Fence all former tasks of the source connector; the future ends when none can write any more (KIP-618)."""
