# SPDX-License-Identifier: Apache-2.0
"""Requests of a follower's herder to the leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.model.cluster_config_state import Config, SessionKey


class LeaderRequests(Protocol):
    """A client of the leader. Each call blocks until the leader has answered: not for the herder's thread.

    ``leader_url`` is that of the leader's REST API, ``key`` signs the requests, where there is one. Raise ConnectError
    with the leader's message, where it sent one.
    """

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None:
        """Have the leader write a connector's task configs."""

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        """Have a level written for the whole cluster. Raise RetriableError as ``fence_zombies`` does."""

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        """Have the leader fence the connector's former tasks.

        Raise RetriableError if another request may help: no answer, no leader any more, a round that is not over yet.
        """
