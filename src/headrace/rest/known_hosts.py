# SPDX-License-Identifier: Apache-2.0
"""Which hosts requests may be addressed to, against DNS rebinding.

A page of ``evil.example`` whose name is made to lead to this worker is, to its visitor's browser, of the worker's own
origin: it may ask anything and read the answers. What gives it away is the Host that the browser sends.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.config.worker_config import ALLOWED_HOSTS, ALLOWED_ORIGINS, WorkerConfig
from headrace.rest.endpoints import Endpoints
from headrace.rest.exception_mapper import error_response

_ANY: Final = "*"
_PRIVATE: Final = frozenset(
    {"local", "internal", "localhost", "svc", "intranet", "private", "corp", "home", "lan", "home.arpa"}
)
"""Ends of names that nobody can register: RFC 6762 (appendix G), 6761 and 8375, and those that Kubernetes gives."""


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """``names`` in small letters; one with a dot before it is all names below. ``private``: see ``is_private``."""

    names: frozenset[str]
    private: bool
    own: Callable[[], Iterable[str]]
    """More names, of this machine; asks the name service, so it may block."""

    def knows(self, host: str) -> bool:
        """Does not block: of no host that it denies is it certain before ``knows_own`` has denied it too."""
        name = host_name(host)
        return _is_address(name) or self._is_listed(name) or (self.private and is_private(name))

    def knows_own(self, host: str) -> bool:
        return host_name(host) in self.own()

    def _is_listed(self, name: str) -> bool:
        if _ANY in self.names or name in self.names:
            return True
        return any(name.endswith(entry) for entry in self.names if entry.startswith("."))


class KnownHostsOnly:
    """Answers 421 to requests that are addressed to another host; as ASGI middleware."""

    def __init__(self, app: ASGIApp, hosts: KnownHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host")
        if await self._is_ours(scope, host):
            await self._app(scope, receive, send)
            return
        message = (
            f"This worker is not known as '{host}': the page of another site could have made that name lead here. If "
            f"it is one of the worker's, add it to {ALLOWED_HOSTS} in the worker's properties"
        )
        await error_response(421, message)(scope, receive, send)

    async def _is_ours(self, scope: Scope, host: str | None) -> bool:
        """Browsers always send a Host, and over https they leave a server whose certificate is for another name."""
        if host is None or scope["scheme"] == "https" or self._hosts.knows(host):
            return True
        return await asyncio.to_thread(self._hosts.knows_own, host)


def known_hosts(config: WorkerConfig, endpoints: Endpoints) -> KnownHosts:
    """Those of ``rest.allowed.hosts``, of listeners, of the advertised URL, of origins that may use the API.

    Names that only a private network gives count where the worker listens to others than this machine.
    """
    urls = [*config.listeners, *(config.admin_listeners or ()), endpoints.advertised_url]
    urls += [origin for origin in config.get(ALLOWED_ORIGINS) if _ANY not in origin]
    hosts = [urlsplit(url.strip()).hostname or "" for url in urls]
    listed = [host_name(host) for host in ("localhost", socket.gethostname(), *config.get(ALLOWED_HOSTS), *hosts)]
    return KnownHosts(frozenset(filter(None, listed)), not _only_loopback(endpoints), _own_names)


def host_name(host: str) -> str:
    """The name or address in a Host header, in small letters, without port, brackets and the root's dot."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host.removesuffix(".")


def is_private(name: str) -> bool:
    """Whether only who is in the network already can make such a name lead somewhere: ``headrace``, ``a.b.svc``.

    Who is in the network reaches a worker that listens to it, and needs no browser for that.
    """
    return "." not in name or any(name.endswith(f".{end}") for end in _PRIVATE)


def _is_address(name: str) -> bool:
    """Of an address nobody can make a name lead elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _only_loopback(endpoints: Endpoints) -> bool:
    sockets = (each for bound in endpoints.listeners.bound for each in bound.sockets)
    return all(ip_address(each.getsockname()[0].partition("%")[0]).is_loopback for each in sockets)


@functools.cache
def _own_names() -> frozenset[str]:
    return frozenset({host_name(socket.getfqdn())})
