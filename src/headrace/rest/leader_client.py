# SPDX-License-Identifier: Apache-2.0
"""Signed requests to other workers: a follower's to the leader, and any worker's for health of tasks and log lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from headrace.api.errors import ConnectError, RetriableError
from headrace.config.session_key_config import MacAlgorithm
from headrace.herder.cluster_changes import ChangeQuery
from headrace.herder.connector_logs import LogQuery
from headrace.herder.worker_parts import REMOTE_SECONDS
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.rest.herder_request_handler import REQUEST_TIMEOUT_SECONDS
from headrace.rest.internal_request_signature import SignedParts, sign
from headrace.rest.raw_path import encoded
from headrace.rest.rest_client import Answer, Call, RestClient

_MARGIN_SECONDS: Final = 5.0
"""Added to the leader's own timeout, so that the leader's message about what blocks arrives."""

INTERNAL_LOGGERS: Final = "/internal/loggers"
"""Not below /admin, which a worker need not serve at its advertised listener."""
INTERNAL_HEALTH: Final = "/internal/health"
INTERNAL_HISTORY: Final = "/internal/history"
INTERNAL_WORKER: Final = "/internal/worker"
INTERNAL_LOGS: Final = "/internal/logs"
INTERNAL_CHANGES: Final = "/internal/changes"
_PART_SECONDS: Final = REMOTE_SECONDS + 3.0
"""Longer than parts are waited for, so that one reason is given for a worker that is silent: that of the wait."""

_FINAL: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)
"""All other refusals are temporary: they end with the rebalance, or with a new leader or session key."""


class LeaderClient:
    """An implementation of ``headrace.herder.engine.herder_services.LeaderRequests`` over HTTP."""

    def __init__(
        self, client: RestClient, algorithm: MacAlgorithm, request_timeout: float = REQUEST_TIMEOUT_SECONDS
    ) -> None:
        """Sign by ``algorithm``; ``request_timeout``: the seconds that a worker takes at most to serve a request."""
        self._client = client
        self._algorithm = algorithm
        self._timeout = request_timeout + _MARGIN_SECONDS

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None:
        """Have the leader write a connector's task configurations."""
        body = json.dumps([dict(config) for config in configs]).encode()
        answer = self._send("POST", leader_url, _path(connector, "tasks"), body, key)
        if answer.status >= 300:
            raise ConnectError(_refusal_message("POST", leader_url, _path(connector, "tasks"), answer))

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        """Have the leader fence the producers of a connector's former tasks (KIP-618)."""
        path = _path(connector, "fence")
        try:
            answer = self._send("PUT", leader_url, path, b"", key)
        except RetriableError:
            raise
        except ConnectError as error:  # it may have been done, and doing it again does no harm
            raise RetriableError(str(error)) from error
        if answer.status >= 300:
            raise _refusal(_refusal_message("PUT", leader_url, path, answer), answer.status, key)

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        """Have the leader write a logger's level for the whole cluster (KIP-976)."""
        path = f"{INTERNAL_LOGGERS}/{encoded(logger)}"
        answer = self._send("PUT", leader_url, path, json.dumps({"level": level}).encode(), key)
        if answer.status >= 300:
            raise _refusal(_refusal_message("PUT", leader_url, path, answer), answer.status, key)

    def worker_health(self, worker_url: str, connector: str | None, key: SessionKey | None) -> dict[str, Any]:
        """Have a worker answer for its connectors and tasks, those of a connector or all, within a short time."""
        return self._part(INTERNAL_HEALTH, worker_url, connector, key)

    def worker_history(self, worker_url: str, connector: str | None, key: SessionKey | None) -> dict[str, Any]:
        """Have a worker answer with its own history, of a connector or of all, within a short time."""
        return self._part(INTERNAL_HISTORY, worker_url, connector, key)

    def worker_report(self, worker_url: str, key: SessionKey | None) -> dict[str, Any]:
        """Have a worker answer with its own figures and, if it leads, the group's members, within a short time."""
        return self._part(INTERNAL_WORKER, worker_url, None, key)

    def _part(self, of: str, worker_url: str, connector: str | None, key: SessionKey | None) -> dict[str, Any]:
        path = of if connector is None else f"{of}/{encoded(connector)}"
        answer = self._send("GET", worker_url, path, b"", key, _PART_SECONDS)
        if answer.status != HTTPStatus.OK:
            raise ConnectError(f"it answered {answer.status} to GET {path}: {_error_message(answer)}")
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def log_lines(self, worker_url: str, query: LogQuery, key: SessionKey | None) -> dict[str, Any]:
        """Have a worker answer with its log lines about a connector, within a short time."""
        return self._lines(f"{INTERNAL_LOGS}/{encoded(query.connector)}", worker_url, query, key)

    def changes(self, worker_url: str, query: ChangeQuery, key: SessionKey | None) -> dict[str, Any]:
        """Have a worker answer with the changes that it has audited, within a short time."""
        return self._lines(INTERNAL_CHANGES, worker_url, query, key)

    def _lines(self, path: str, url: str, query: LogQuery | ChangeQuery, key: SessionKey | None) -> dict[str, Any]:
        answer = self._send("POST", url, path, json.dumps(query.to_json()).encode(), key, _PART_SECONDS)
        if answer.status != HTTPStatus.OK:
            raise ConnectError(f"It answered {answer.status} to POST {path}: {_error_message(answer)}")
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def _send(
        self,
        method: str,
        leader_url: str,
        path: str,
        body: bytes,
        key: SessionKey | None,
        timeout: float | None = None,
    ) -> Answer:
        url = leader_url.rstrip("/") + path
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers |= sign(SignedParts(method, urlsplit(url).path, body), key, self._algorithm)
        return self._client.call(Call(method, url, timeout or self._timeout, headers, body))


def _path(connector: str, of: str) -> str:
    return f"/connectors/{encoded(connector)}/{of}"


def _refusal_message(method: str, leader_url: str, path: str, answer: Answer) -> str:
    return f"The leader at {leader_url} answered {answer.status} to {method} {path}: {_error_message(answer)}"


def _refusal(message: str, status: int, key: SessionKey | None) -> ConnectError:
    # Unsigned requests are bad ones; the leader may just have written the first key.
    final = status in _FINAL and (key is not None or status != HTTPStatus.BAD_REQUEST)
    return ConnectError(message) if final else RetriableError(message)


def _error_message(answer: Answer) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.body[:200].decode(errors="replace")
