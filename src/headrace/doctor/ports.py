# SPDX-License-Identifier: Apache-2.0
"""Checks of the ports at which the worker and Spark's UI listen."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError
from headrace.config.rest_config import ADMIN_LISTENERS, LISTENERS
from headrace.doctor.findings import Finding, ok, problem, warning
from headrace.doctor.subject import Subject
from headrace.rest.server.listeners import Listener

_UI_PORT: Final = 4040
_LISTENING: Final = "0A"
_ALL: Final = "::"

Trial = Callable[[str, int], str | None]
"""Returns the reason why nothing can listen at a host and port; None if it can."""


def check_listeners(subject: Subject) -> Iterator[Finding]:
    """Check that the listeners of the REST API can be bound."""
    if subject.config is not None:
        for text in subject.config.listeners:
            yield listener_finding(text, LISTENERS, refusal)
        for text in subject.config.admin_listeners or ():
            yield listener_finding(text, ADMIN_LISTENERS, refusal)


def listener_finding(text: str, property: str, refusal: Trial) -> Finding:
    """Return the finding about one entry of ``listeners`` or ``admin.listeners``."""
    try:
        listener = Listener.parse(text, property)
    except ConfigError as error:
        return problem(str(error), f"correct {property}")
    reason = refusal(listener.host, listener.port)
    if reason is None:
        return ok(f"{property}: {text} is free")
    return problem(f"{property}: {text}: {reason}", f"end the other program, or choose another port in {property}")


def check_spark_ui(subject: Subject) -> Iterator[Finding]:
    """Check the port of Spark's UI, for which Spark takes the next free one."""
    spark = subject.spark
    if spark.get("spark.ui.enabled", "true").strip().lower() == "false":
        yield ok("Spark's UI is off (spark.ui.enabled=false)")
        return
    text = spark.get("spark.ui.port", str(_UI_PORT))
    if not text.strip().isdecimal():
        yield problem(f"spark.ui.port={text} is no port", "correct it")
        return
    yield ui_finding(int(text), refusal)


def ui_finding(port: int, refusal: Trial) -> Finding:
    """Return the finding about the port of Spark's UI."""
    reason = refusal("127.0.0.1", port)
    if reason is None:
        return ok(f"port {port} of Spark's UI is free")
    return warning(
        f"port {port} of Spark's UI: {reason}", "nothing, Spark takes the next free port; or set spark.ui.port"
    )


def refusal(host: str, port: int) -> str | None:
    """Try to bind a host and port, and return the reason if that fails. Nothing listens there meanwhile."""
    try:
        for family, address in _addresses(host):
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if address == _ALL else 1)
                probe.bind((address, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            owner = owner_of(port)
            return "the port is in use" + (f" by {owner}" if owner else " by a process of another user")
        return error.strerror or str(error)
    return None


def _addresses(host: str) -> Sequence[tuple[socket.AddressFamily, str]]:
    if not host:
        return [(socket.AF_INET6, _ALL)] if socket.has_dualstack_ipv6() else [(socket.AF_INET, "")]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))[:1]


def owner_of(port: int) -> str | None:
    """Return the id and program of the process that listens at a port; None if that cannot be found out."""
    inodes = {f"socket:[{inode}]" for inode in _listening(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(each) in inodes for each in (process / "fd").iterdir()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                return f"process {process.name} ({command[:60]})"
        except OSError:  # of another user, or ended meanwhile
            continue
    return None


def _listening(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]
