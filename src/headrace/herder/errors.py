# SPDX-License-Identifier: Apache-2.0
"""The errors of requests to the herder; the REST layer turns each into one HTTP status."""

from __future__ import annotations

from typing import Self

from headrace.api.errors import ConnectError


class NotFoundError(ConnectError):
    """There is no such connector or task (404)."""


class AlreadyExistsError(ConnectError):
    """A connector of this name exists (409)."""


class BadRequestError(ConnectError):
    """The request is invalid (400); the message names the property or value."""


class ForbiddenError(ConnectError):
    """The sender has no permission for the request (403)."""


class RebalanceNeededError(ConnectError):
    """The request has to wait for a rebalance to end; try again (409 with Retry-After)."""


class RemovedTaskError(ConnectError):
    """The connector had such a task and has it no more; trying again does not help (409, as in Kafka Connect)."""


class OvertakenError(ConnectError):
    """The base of the request has changed meanwhile; repeat the request (409)."""


class NotLeaderError(ConnectError):
    """Only the leader can do this; ``leader_url`` is where to forward it (None while unknown)."""

    def __init__(self, message: str, leader_url: str | None) -> None:
        super().__init__(message)
        self.leader_url = leader_url

    @classmethod
    def at(cls, leader_url: str) -> Self:
        """Return the error for a request that only the leader at ``leader_url`` can serve."""
        return cls(f"Only the group's leader can do this; it is at {leader_url}", leader_url)


class RequestTimeoutError(ConnectError):
    """The request did not end in time (500); the message names the stage that blocks and for how long."""
