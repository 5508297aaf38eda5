# SPDX-License-Identifier: Apache-2.0
"""The logs of the two Kafka clients: no secrets of a login, and no errors for failed attempts to connect."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

_SASL_FACILITIES: Final = ("LIBSASL", "[LIBSASL]")
_SASL_LOG_INTERVAL_S: Final = 60.0
_QUIET_FACILITIES = ("[FAIL]", "[ERROR]", "FAIL ", "ERROR ", "GETPID", "[GETPID]", "[TERMINATE]")
_REQUESTS_IN_FULL: Final = ("kafka.net.connection", "kafka.protocol.parser")
"""At DEBUG these two log requests as they are sent, passwords and tokens in them."""
_LOGINS: Final = ("SaslAuthenticate", "SaslBytes")


class LibrdkafkaLog:
    """A logger for librdkafka's lines, which it would print to stderr. Called on whatever thread polls the client.

    librdkafka reports each failed attempt to connect as an error though it keeps trying: such lines are logged at
    DEBUG. So are Cyrus SASL's, but they alone give the reason: one a minute is logged at its own level.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logging.getLogger("headrace.kafka.librdkafka")
        self._clock = clock
        self._last_sasl_reason = ("", 0.0)

    def log(self, level: int, text: str, *args: object) -> None:
        line = text % args if args else text
        quiet = line.startswith(_QUIET_FACILITIES) or (
            line.startswith(_SASL_FACILITIES) and self._logged_recently(line)
        )
        self._logger.log(logging.DEBUG if quiet else min(level, logging.WARNING), "%s", line)

    def _logged_recently(self, line: str) -> bool:
        """Return True if the line's reason, its end, was logged within a minute, for whichever broker and client."""
        reason, now = line.rpartition(": ")[2], self._clock()
        last, at = self._last_sasl_reason
        if reason == last and now - at < _SASL_LOG_INTERVAL_S:
            return True
        self._last_sasl_reason = (reason, now)
        return False


LIBRDKAFKA_LOG = LibrdkafkaLog()


class _WithoutLogins(logging.Filter):
    """A filter that replaces logins in a record's arguments; it never drops a record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_redacted, record.args))
        return True


def _redacted(argument: object) -> object:
    if isinstance(argument, bytes | bytearray | memoryview):
        return f"({len(argument)} bytes)"
    name = type(argument).__name__
    return f"{name}(…)" if name.startswith(_LOGINS) else argument


def configure_kafka_python_loggers() -> None:
    """Configure the loggers; call it once, before any client is made."""
    for name in _REQUESTS_IN_FULL:
        logging.getLogger(name).addFilter(_WithoutLogins())
    # kafka-python reports every attempt to connect that fails as an error, though it keeps trying.
    if logging.getLogger("kafka.net").level == logging.NOTSET:
        logging.getLogger("kafka.net").setLevel(logging.CRITICAL)
