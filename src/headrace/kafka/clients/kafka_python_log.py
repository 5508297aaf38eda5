# SPDX-License-Identifier: Apache-2.0
"""Settings of kafka-python's loggers: no secrets of a login, and no errors for failed attempts to connect."""

from __future__ import annotations

import logging
from typing import Final

_REQUESTS_IN_FULL: Final = ("kafka.net.connection", "kafka.protocol.parser")
"""At DEBUG these two log requests as they are sent, passwords and tokens in them."""
_LOGINS: Final = ("SaslAuthenticate", "SaslBytes")


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
    # kafka-python reports every attempt to connect that fails as an error, though it goes on trying.
    if logging.getLogger("kafka.net").level == logging.NOTSET:
        logging.getLogger("kafka.net").setLevel(logging.CRITICAL)
