# SPDX-License-Identifier: Apache-2.0
"""Logins of kafka-python, on the thread that also sends heartbeats: tokens, and Kerberos.

A login that cannot be made now is a KafkaConnectionError, so that connecting continues.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaConnectionError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.gssapi import SaslMechanismGSSAPI
from kafka.net.sasl.oauth import AbstractTokenProvider

from headrace.kafka.clients.kerberos import reason
from headrace.kafka.clients.oauth_tokens import TokenSource
from headrace.kafka.errors import RetriableKafkaError


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """A provider that never blocks. KafkaConnectionError if ``source`` has no valid token: connecting continues."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    def token(self) -> str:
        try:
            return self._source.current().value
        except RetriableKafkaError as error:
            raise KafkaConnectionError(str(error)) from error

    def extensions(self) -> dict[str, str]:
        return self._source.extensions


class KerberosMechanism(SaslMechanismGSSAPI):  # type: ignore[misc]
    """GSSAPI with a KafkaConnectionError for each error of Kerberos, so that connecting continues."""

    def __init__(self, **config: Any) -> None:
        with _as_connection_error():
            super().__init__(**config)

    def receive(self, auth_bytes: bytes) -> None:
        with _as_connection_error():
            super().receive(auth_bytes)


def register_kerberos() -> None:
    """Register the mechanism with kafka-python, in the place of its own."""
    register_sasl_mechanism("GSSAPI", KerberosMechanism, overwrite=True)


@contextmanager
def _as_connection_error() -> Iterator[None]:
    import gssapi  # not there without Kerberos

    try:
        yield
    except gssapi.exceptions.GSSError as error:
        raise KafkaConnectionError(f"Kerberos: {reason(error)}") from error
