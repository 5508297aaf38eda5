# SPDX-License-Identifier: Apache-2.0
"""A follower's signed requests to the leader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from headrace.api.errors import ConnectError
from headrace.config.mac_algorithms import MacAlgorithm
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.rest.internal_request_signature import SignedParts, sign
from headrace.rest.raw_path import encoded
from headrace.rest.request_handler import REQUEST_TIMEOUT_SECONDS
from headrace.rest.rest_client import Answer, Call, RestClient

TIMEOUT_SECONDS: Final = REQUEST_TIMEOUT_SECONDS + 5
"""Longer than the leader waits, so that its words of what blocks come through."""


class LeaderClient:
    """Implements ``headrace.distributed.leader_requests.LeaderRequests``."""

    def __init__(self, client: RestClient, algorithm: MacAlgorithm) -> None:
        self._client = client
        self._algorithm = algorithm

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None:
        body = json.dumps([dict(config) for config in configs]).encode()
        self._send("POST", leader_url, f"/connectors/{encoded(connector)}/tasks", body, key)

    def _send(self, method: str, leader_url: str, path: str, body: bytes, key: SessionKey | None) -> None:
        url = leader_url.rstrip("/") + path
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers |= sign(SignedParts(method, urlsplit(url).path, body), key, self._algorithm)
        answer = self._client.call(Call(method, url, TIMEOUT_SECONDS, headers, body))
        if answer.status >= 300:
            said = _said(answer)
            raise ConnectError(f"The leader at {leader_url} answered {answer.status} to {method} {path}: {said}")


def _said(answer: Answer) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.body[:200].decode(errors="replace")
