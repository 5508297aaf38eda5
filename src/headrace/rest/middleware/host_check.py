# SPDX-License-Identifier: Apache-2.0
"""The check of the Host header, against DNS rebinding.

If ``evil.example`` resolves to this worker's address, a visitor's browser takes that site's pages to be of the worker's
own origin: they may send anything and read the answers. The browser's Host header reveals them.
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

from headrace.config.rest_config import ALLOWED_HOSTS, ALLOWED_ORIGINS
from headrace.config.worker_config import WorkerConfig
from headrace.rest.exception_mapper import error_response
from headrace.rest.server.endpoints import Endpoints

_ANY: Final = "*"
_PRIVATE: Final = frozenset(
    {"local", "internal", "localhost", "svc", "intranet", "private", "corp", "home", "lan", "home.arpa"}
)
"""Suffixes that cannot be registered: RFC 6762 (appendix G), 6761 and 8375, and those of Kubernetes."""


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """``names`` in lower case; one that begins with a dot allows all below it. ``private``: see ``is_private``."""

    names: frozenset[str]
    private: bool
    own: Callable[[], Iterable[str]]
    """Returns more names of this machine; asks the name service, so it may block."""

    def allows(self, host: str) -> bool:
        """Return True for a known host, without blocking. A host that it denies may still be one of ``own``."""
        name = host_name(host)
        return _is_address(name) or self._is_listed(name) or (self.private and is_private(name))

    def allows_own_name(self, host: str) -> bool:
        """Return True for one of this machine's own names; may block."""
        return host_name(host) in self.own()

    def _is_listed(self, name: str) -> bool:
        if _ANY in self.names or name in self.names:
            return True
        return any(name.endswith(entry) for entry in self.names if entry.startswith("."))


class HostCheck:
    """ASGI middleware that answers 421 to requests with another Host."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host")
        if await self._is_allowed(scope, host):
            await self._app(scope, receive, send)
            return
        message = (
            f"This worker is not known as '{host}': the page of another site could have made that name lead here. If "
            f"it is one of the worker's, add it to {ALLOWED_HOSTS} in the worker's properties"
        )
        await error_response(421, message)(scope, receive, send)

    async def _is_allowed(self, scope: Scope, host: str | None) -> bool:
        """Allow requests without a Host, and https: browsers always send it, and check a certificate's name."""
        if host is None or scope["scheme"] == "https" or self._hosts.allows(host):
            return True
        return await asyncio.to_thread(self._hosts.allows_own_name, host)


def allowed_hosts(config: WorkerConfig, endpoints: Endpoints) -> AllowedHosts:
    """Collect the hosts of ``rest.allowed.hosts``, the listeners, the advertised URL and the allowed CORS origins.

    Names of private networks are allowed where the worker listens beyond this machine.
    """
    urls = [*config.listeners, *(config.admin_listeners or ()), endpoints.advertised_url]
    urls += [origin for origin in config.get(ALLOWED_ORIGINS) if _ANY not in origin]
    hosts = [urlsplit(url.strip()).hostname or "" for url in urls]
    listed = [host_name(host) for host in ("localhost", socket.gethostname(), *config.get(ALLOWED_HOSTS), *hosts)]
    return AllowedHosts(frozenset(filter(None, listed)), not _only_loopback(endpoints), _own_names)


def host_name(host: str) -> str:
    """Return the name or address of a Host header, in lower case, without port, brackets and the root's dot."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host.removesuffix(".")


def is_private(name: str) -> bool:
    """Return True for names that resolve in a private network only, as ``headrace`` and ``a.b.svc``.

    An attacker inside that network reaches a worker that listens to it without any browser.
    """
    return "." not in name or any(name.endswith(f".{end}") for end in _PRIVATE)


def _is_address(name: str) -> bool:
    """Return True for an IP address: no name service is involved, so it cannot be rebound."""
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
