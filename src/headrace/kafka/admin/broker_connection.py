# SPDX-License-Identifier: Apache-2.0
"""One connection to one broker, step by step: name, TCP, TLS, login, first request. Writes nothing."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import kafka.errors as kafka_errors
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from kafka.net.compat import KafkaNetClient
from kafka.protocol.metadata import MetadataRequest

from headrace.kafka.clients.client_config import admin_config, kafka_python_config
from headrace.kafka.clients.client_logs import LIBRDKAFKA_LOG
from headrace.kafka.clients.tls_properties import kafka_python_tls

_LEAST_MS: Final = 100
_REFUSAL_S: Final = 3.0
_REFUSED_AT: Final = re.compile(r"^\S+: | \(after \d+ms in state \w+.*\)$")
_NAMES_OF_ERRORS: Final = re.compile(r"^(?:\[Error \d+\] )?(?:\w+Error: )*")


class Step(str, Enum):
    """The steps of a connection, in their order."""

    ADDRESS = "address"
    NAME = "name"
    TCP = "TCP"
    TLS = "TLS"
    LOGIN = "login"
    REQUEST = "first request"


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """The step that failed, and why; ``speaks_tls`` is True if the port was found to expect TLS."""

    step: Step
    reason: str
    speaks_tls: bool = False


def connection_failure(props: Mapping[str, str], server: str, timeout: float) -> ConnectionFailure | None:
    """Connect to ``server`` (``host:port``) with these Java-style properties; return what failed, None if nothing did.

    Blocks for ``timeout`` seconds, and for as long as the system takes to look up a name. Raise ConfigError for keys
    and logins that cannot be used.
    """
    deadline = time.monotonic() + timeout
    host, _, port = server.strip().rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        return ConnectionFailure(Step.ADDRESS, "it is not host:port")
    failure = tcp_failure(host, int(port), timeout)
    if failure is not None:
        return failure
    if _uses_tls(props):
        failure = _tls_failure(props, host, int(port), _left(deadline))
    return failure or _kafka_failure(props, server, host, int(port), deadline)


def tcp_failure(host: str, port: int, timeout: float) -> ConnectionFailure | None:
    """Look up a host and open a connection to it; return what failed, None if nothing did."""
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return ConnectionFailure(Step.NAME, error.strerror or str(error))
    try:
        socket.create_connection((host, port), timeout).close()
    except TimeoutError:
        return ConnectionFailure(Step.TCP, f"no answer within {timeout:.0f} s")
    except OSError as error:
        return ConnectionFailure(Step.TCP, error.strerror or str(error))
    return None


def _tls_failure(props: Mapping[str, str], host: str, port: int, timeout: float) -> ConnectionFailure | None:
    reason = _handshake(kafka_python_tls(props), host, port, timeout)
    return ConnectionFailure(Step.TLS, reason) if reason is not None else None


def _handshake(context: ssl.SSLContext, host: str, port: int, timeout: float) -> str | None:
    """Return the reason for which there is no TLS connection, None if there is one."""
    try:
        with socket.create_connection((host, port), timeout) as raw, context.wrap_socket(raw, server_hostname=host):
            return None
    except ssl.SSLCertVerificationError as error:
        return f"the broker's certificate is not accepted: {error.verify_message}"
    except ssl.SSLError as error:
        return error.reason or str(error)
    except TimeoutError:
        return f"no answer within {timeout:.0f} s"
    except OSError as error:
        return error.strerror or "the broker closed the connection"


def _kafka_failure(
    props: Mapping[str, str], server: str, host: str, port: int, deadline: float
) -> ConnectionFailure | None:
    """Log in and send a request. A broker that expects a login closes the connection after the first request."""
    limit = max(_LEAST_MS, int(_left(deadline) * 1000))
    timeouts = {"request_timeout_ms": limit, "socket_connection_setup_timeout_ms": limit}
    client = KafkaNetClient(**{**kafka_python_config({**props, "bootstrap.servers": server}), **timeouts})
    client._net.start()
    try:
        client._manager.run(_first_request, client._manager, limit)
    except Exception as error:  # whatever the library raises, or the broker's bytes make it raise
        speaks_tls = not _uses_tls(props) and _speaks_tls(host, port, deadline)
        if _logs_in(props) and not speaks_tls:
            known = isinstance(error, kafka_errors.IllegalSaslStateError)
            return ConnectionFailure(Step.LOGIN, (None if known else _refusal(props, server)) or _reason(error))
        return ConnectionFailure(Step.REQUEST, _reason(error), speaks_tls)
    finally:
        client._net.stop(timeout_ms=1000)
        client.close()
    return None


def _refusal(props: Mapping[str, str], server: str) -> str | None:
    """Return the broker's reason for refusing a login, by librdkafka; None if it gives none within some seconds.

    kafka-python drops an answer behind which the broker closes the connection, as it does after each refusal.
    """
    errors: list[KafkaError] = []
    config: dict[str, Any] = {**admin_config({**props, "bootstrap.servers": server}), "logger": LIBRDKAFKA_LOG}
    config["error_cb"] = errors.append
    client = AdminClient(config)
    deadline = time.monotonic() + _REFUSAL_S
    while time.monotonic() < deadline:
        with suppress(KafkaException):
            client.list_topics(timeout=0.2)
        client.poll(0)
        for error in errors:
            if error.code() == KafkaError._AUTHENTICATION:
                return _REFUSED_AT.sub("", error.str())
    return None


async def _first_request(manager: Any, limit_ms: int) -> None:
    node = manager.cluster.bootstrap_brokers()[0].node_id
    connection = manager.get_connection(
        node, timeout_ms=limit_ms, pop_on_close=False, refresh_metadata_on_err=False, reset_backoff_on_connect=False
    )
    await connection
    await connection.send_request(MetadataRequest(topics=[], allow_auto_topic_creation=False))


def _speaks_tls(host: str, port: int, deadline: float) -> bool:
    """Return True if the port answers a TLS handshake, whosever certificate it has."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), min(1.0, _left(deadline))) as raw,
            context.wrap_socket(raw, server_hostname=host),
        ):
            return True
    except OSError:
        return False


def _uses_tls(props: Mapping[str, str]) -> bool:
    return props.get("security.protocol", "PLAINTEXT").upper().endswith("SSL")


def _logs_in(props: Mapping[str, str]) -> bool:
    return props.get("security.protocol", "PLAINTEXT").upper().startswith("SASL")


def _reason(error: Exception) -> str:
    if isinstance(error, kafka_errors.IllegalSaslStateError):
        return "the broker expects no login at this port"
    reason = _NAMES_OF_ERRORS.sub("", str(error))
    return "the broker closed the connection" if reason in ("", "socket disconnected") else reason


def _left(deadline: float) -> float:
    return max(_LEAST_MS / 1000, deadline - time.monotonic())
