# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging

import pytest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest

import headrace.kafka.clients.client_config  # noqa: F401


@pytest.mark.parametrize("logger", ["kafka.net.connection", "kafka.protocol.parser"])
def test_what_logs_in_is_not_logged(logger: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger):
        log = logging.getLogger(logger)
        log.debug("%s Request %d: %s", "c", 1, SaslAuthenticateRequest(b"\0user\0hush"))
        log.debug("%s Send: %r", "c", b"\0user\0hush")
        log.debug("%s Request %d: %s", "c", 2, MetadataRequest())
    login, raw, other = caplog.messages
    assert login == "c Request 1: SaslAuthenticateRequest(…)"
    assert raw == "c Send: '(10 bytes)'"
    assert other.startswith("c Request 2: MetadataRequest(")
