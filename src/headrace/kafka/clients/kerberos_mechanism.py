# SPDX-License-Identifier: Apache-2.0
"""Kerberos for kafka-python: a missing ticket is a failed connection, which is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gssapi
from kafka.errors import KafkaConnectionError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.gssapi import SaslMechanismGSSAPI

from headrace.kafka.clients.kerberos import reason


class KerberosMechanism(SaslMechanismGSSAPI):  # type: ignore[misc]
    """GSSAPI with a KafkaConnectionError for each error of Kerberos, so that connecting goes on."""

    def __init__(self, **config: Any) -> None:
        with _as_connection_error():
            super().__init__(**config)

    def receive(self, auth_bytes: bytes) -> None:
        with _as_connection_error():
            super().receive(auth_bytes)


def register() -> None:
    """Register the mechanism with kafka-python, in the place of its own."""
    register_sasl_mechanism("GSSAPI", KerberosMechanism, overwrite=True)


@contextmanager
def _as_connection_error() -> Iterator[None]:
    try:
        yield
    except gssapi.exceptions.GSSError as error:
        raise KafkaConnectionError(f"Kerberos: {reason(error)}") from error
