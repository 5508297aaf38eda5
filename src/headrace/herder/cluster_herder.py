# SPDX-License-Identifier: Apache-2.0
"""What other workers ask of a herder through REST, beside what users do. Java: ``InternalClusterResource``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from headrace.model.cluster_config_state import Config, SessionKey


class ClusterHerder(Protocol):
    """As ``Herder``: called from any thread, blocks nobody. A follower's futures raise ``NotLeaderError``."""

    def signed(self) -> bool:
        """Whether such requests have to be signed: not in groups with a member that cannot (KIP-507)."""

    def session_key(self) -> SessionKey | None:
        """What they have to be signed with; None while it was not read, or none was made yet."""

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        """Task configs that a connector on another worker has made; the future ends when the config topic has them."""

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        """A level for the whole cluster (KIP-976); the future ends when the config topic has it."""

    def fence_zombies(self, name: str) -> Future[None]:
        """The future ends when no former task of the source connector can write any more (KIP-618)."""
