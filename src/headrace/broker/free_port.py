# SPDX-License-Identifier: Apache-2.0
"""Free ports of this machine."""

from __future__ import annotations

import errno
import random
import socket

from headrace.api.errors import ConfigError

LOOPBACK = "127.0.0.1"

# Below the range that systems take ports of outgoing connections from: a client that reconnects to a stopped server of
# that range may be given the server's own port, and hold it.
_CANDIDATES = range(20_000, 32_768)


def free_port(*others: int) -> int:
    """Return a free port of the loopback interface, chosen at random: none of ``others``, which are chosen already."""
    while (port := random.choice(_CANDIDATES)) in others or not is_free(port):
        pass
    return port


def check_free(port: int) -> None:
    """Raise ConfigError if no broker could listen on `port` of the loopback interface now."""
    if not is_free(port):
        raise ConfigError(
            f"Port {port} of {LOOPBACK} is in use by another process (port={port}). "
            "Stop that one, or choose another port, or 0 for any free one",
            "port",
            port,
        )


def is_free(port: int) -> bool:
    """Return True if a server could listen on `port` of the loopback interface now."""
    with socket.socket() as probe:
        # As servers do: connections of a server that just ended are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True
