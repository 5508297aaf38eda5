# SPDX-License-Identifier: Apache-2.0
"""What a follower's herder asks of the leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.model.cluster_config_state import Config, SessionKey


class LeaderRequests(Protocol):
    """Blocks until the leader has answered, so not for the herder's thread.

    ``leader_url`` is where the leader's REST API is, ``key`` what requests are signed with, where there is one.
    ConnectError, with the leader's own words where it gave any.
    """

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None: ...

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        """Has a level written for the whole cluster. RetriableError as for ``fence_zombies``."""

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        """RetriableError where asking again may help: no answer, no leader any more, a round that is not over yet."""
