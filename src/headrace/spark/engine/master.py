# SPDX-License-Identifier: Apache-2.0
"""The meaning of ``spark.master``: local or a cluster, its addresses, and its reachability."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress
from typing import Final

_CONNECT_TIMEOUT_S: Final = 3.0
_KUBERNETES_PORT: Final = 443
_LOOPBACK: Final = "127.0.0.1"


def is_local(master: str) -> bool:
    """Return True if tasks run below the driver's JVM. Spark's local-cluster is not local: executors are processes."""
    return master == "local" or master.startswith("local[")


def unreachable(master: str) -> str | None:
    """Return the reason why the master's address does not answer; None if it does, or ``master`` is no address.

    Spark itself needs a minute to find that out. Blocks for some seconds.
    """
    reason = None
    for host, port in _addresses(master):
        try:
            socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S).close()
        except OSError as error:
            reason = f"no answer at {host}:{port}: {error.strerror or error}"
        else:
            return None
    return reason


def host_towards(master: str) -> str:
    """Return the address of this machine that the master sees, as far as known without connecting to it."""
    if master.startswith("local-cluster"):
        return _LOOPBACK
    for host, port in _addresses(master):
        with suppress(OSError):
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)  # a datagram socket sends nothing here; it only finds the route
                return str(probe.getsockname()[0])
    return socket.getfqdn()


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach ``host``."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address[4][0]).partition("%")[0]).is_loopback for address in found)


def _addresses(master: str) -> list[tuple[str, int]]:
    """Parse ``spark://host:port,host:port`` and ``k8s://https://host:port``."""
    if master.startswith("spark://"):
        found = [re.fullmatch(r"\[?(.+?)\]?:(\d+)", place) for place in master.removeprefix("spark://").split(",")]
        return [(match[1], int(match[2])) for match in found if match is not None]
    matched = re.fullmatch(r"k8s://(?:https?://)?\[?([^/]+?)\]?(?::(\d+))?(?:/.*)?", master)
    return [(matched[1], int(matched[2] or _KUBERNETES_PORT))] if matched else []
