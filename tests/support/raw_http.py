# SPDX-License-Identifier: Apache-2.0
"""Requests written byte by byte, as no client library would."""

from __future__ import annotations

import re
import socket
from contextlib import suppress


def connected(port: int, source: str = "127.0.0.1", timeout: float = 20) -> socket.socket:
    """A connection to a worker of this machine, from one of its loopback addresses."""
    return socket.create_connection(("127.0.0.1", port), timeout, source_address=(source, 0))


def everything_from(connection: socket.socket, patience: float) -> bytes:
    received = b""
    connection.settimeout(patience)
    with suppress(TimeoutError, ConnectionResetError):
        while data := connection.recv(65536):
            received += data
    return received


def statuses(answer: bytes) -> list[int]:
    """Of all answers in a row."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed it."""
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
