# SPDX-License-Identifier: Apache-2.0
"""Tokens for kafka-python, which requests one at every login, on the thread that also sends heartbeats."""

from __future__ import annotations

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from headrace.kafka.clients.oauth_tokens import TokenSource
from headrace.kafka.errors import RetriableKafkaError


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """A provider that never blocks. KafkaConnectionError if ``source`` has no valid token: connecting goes on."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def token(self) -> str:
        try:
            return self._source.current().value
        except RetriableKafkaError as error:
            raise KafkaConnectionError(str(error)) from error

    def extensions(self) -> dict[str, str]:
        return self._source.extensions
