# SPDX-License-Identifier: Apache-2.0
"""Authentication by client certificates, and by the headers of trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from headrace.api.errors import ConfigError
from headrace.config.access_config import (
    AUTHENTICATION,
    CERTIFICATE,
    PROXY,
    PROXY_ADDRESSES,
    PROXY_GROUPS_HEADER,
    PROXY_USER_HEADER,
)
from headrace.config.worker_config import WorkerConfig
from headrace.rest.access.authentication import Principal, RefusedCredentialsError

_SUBJECT: Final = "headrace.client_subject"


class Certificates:
    """Authentication by a client's certificate: the common name is the user, organizational units are groups.

    TLS has checked the certificate: ``ssl.client.auth`` is ``required`` or ``requested``.
    """

    scheme: Final = None

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user, None for a client without a certificate."""
        subject: Sequence[tuple[str, str]] = scope.get(_SUBJECT, ())
        names = [value for key, value in subject if key == "commonName"]
        if not subject:
            return None
        if len(names) != 1 or not names[0]:
            raise RefusedCredentialsError("a certificate without exactly one common name")
        units = frozenset(value for key, value in subject if key == "organizationalUnitName")
        return Principal(names[0], units, CERTIFICATE)


class TrustedProxies:
    """Authentication by the headers of proxies at configured addresses; those of other clients are ignored."""

    scheme: Final = None

    def __init__(self, config: WorkerConfig) -> None:
        """Raise ConfigError without addresses."""
        given = config.get(PROXY_ADDRESSES)
        if not given:
            reason = f"{AUTHENTICATION}={PROXY} needs the addresses of those that are believed"
            raise ConfigError.invalid(PROXY_ADDRESSES, given, reason)
        self._networks = [ipaddress.ip_network(network) for network in given]
        self._user, self._groups = config.get(PROXY_USER_HEADER), config.get(PROXY_GROUPS_HEADER)

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user; None for a request that is not of a trusted proxy, or names no user."""
        headers = Headers(scope=scope)
        users = headers.getlist(self._user)
        if not users or not self._is_trusted(scope):
            return None
        given = headers.getlist(self._groups)
        if len(users) != 1 or not users[0].strip() or len(given) > 1:
            # Two, if a proxy adds its header to one that its client has sent.
            found = f"{len(users)} headers {self._user} of a proxy, or an empty one, and {len(given)} {self._groups}"
            raise RefusedCredentialsError(found)
        groups = (group.strip() for group in ",".join(given).split(","))
        return Principal(users[0].strip(), frozenset(group for group in groups if group), PROXY)

    def _is_trusted(self, scope: Scope) -> bool:
        client = scope.get("client")
        if not client:
            return False
        address = ipaddress.ip_address(client[0])
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._networks)


class CertificateProtocol(H11Protocol):
    """HTTP protocol that adds the subject of the client's certificate to each request's scope."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate: Mapping[str, Any] = (tls.getpeercert() or {}) if tls is not None else {}
        subject = tuple(pair for names in certificate.get("subject", ()) for pair in names)
        if subject:
            self.app = _with_subject(self.app, subject)


def _with_subject(app: Any, subject: tuple[tuple[str, str], ...]) -> ASGIApp:
    async def with_subject(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, _SUBJECT: subject}, receive, send)

    return with_subject
