# SPDX-License-Identifier: Apache-2.0
"""Tokens for kafka-python, which asks for one at every login, on the thread that also sends heartbeats."""

from __future__ import annotations

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from headrace.kafka.clients.oauth_tokens import TokenSource
from headrace.kafka.errors import RetriableKafkaError


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """Answers at once with what ``source`` has. KafkaConnectionError if there is nothing good: connecting goes on."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def token(self) -> str:
        try:
            return self._source.current().value
        except RetriableKafkaError as error:
            raise KafkaConnectionError(str(error)) from error

    def extensions(self) -> dict[str, str]:
        return self._source.extensions
