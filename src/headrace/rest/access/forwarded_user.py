# SPDX-License-Identifier: Apache-2.0
"""The user of a request that one worker forwards to another.

Only the first worker sees the client's certificate or the trusted proxy; the second sees the first one's certificate.
So the first worker names the user, however authenticated, in a header, and signs it as requests between workers are
signed (KIP-507), together with query and body.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from headrace.api.errors import ConnectError
from headrace.config.access_config import BASIC, CERTIFICATE, JWT, PROXY
from headrace.config.session_key_config import MacAlgorithm
from headrace.herder.herder import ClusterHerder
from headrace.rest.access.access import access_of
from headrace.rest.access.authentication import Principal, RefusedCredentialsError
from headrace.rest.internal_request_signature import SignatureVerifier, SignedParts, sign
from headrace.rest.raw_path import sent_path

HEADER: Final = "X-Headrace-Forwarded-User"
_FORWARDED: Final = (BASIC, JWT, CERTIFICATE, PROXY)
_BODY: Final = "headrace.signed_body"

Sign = Callable[[Request, str, str, bytes], dict[str, str]]
"""Makes the headers of a forwarded request by the user's one, path, query and body."""


class ForgedBodyError(Exception):
    """The body of a forwarded request differs from the one that was signed with its user."""


class ForwardedUsers:
    """Signing of the users of requests to another worker, and authentication of those from one. Event loop only."""

    scheme: Final = None

    def __init__(self, herder: ClusterHerder, algorithm: MacAlgorithm, verifier: SignatureVerifier) -> None:
        self._herder = herder
        self._algorithm = algorithm
        self._verifier = verifier

    def headers(self, request: Request, path: str, query: str, body: bytes) -> dict[str, str]:
        """Return headers for a forwarded request, beside the user's own; none if an extension authenticates users."""
        principal, key = access_of(request).principal, self._herder.session_key()
        if principal.method not in _FORWARDED or key is None:
            return {}
        user = {
            "name": principal.name,
            "groups": sorted(principal.groups),
            "by": principal.method,
            "query": query,
            "body": hashlib.sha256(body).hexdigest(),
        }
        text = base64.urlsafe_b64encode(json.dumps(user).encode())
        return {HEADER: text.decode(), **sign(SignedParts(request.method, path, text), key, self._algorithm)}

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user, None if no worker names one. Raise RefusedCredentialsError if its signature is invalid."""
        headers = Headers(scope=scope)
        text = headers.get(HEADER)
        if text is None:
            return None
        try:
            parts = SignedParts(scope["method"], sent_path(scope), text.encode())
            self._verifier.verify(parts, headers, self._herder.session_key())
        except ConnectError as error:
            raise RefusedCredentialsError(f"a forwarded user: {error}") from error
        user: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
        if user["query"] != scope["query_string"].decode("latin-1"):
            raise RefusedCredentialsError("a forwarded user: the query is not the one that was signed")
        scope[_BODY] = user["body"]
        return Principal(user["name"], frozenset(user["groups"]), user["by"])


def checked_body(scope: Scope, receive: Receive) -> Receive:
    """Return a ``receive`` that raises ForgedBodyError at the end of a body that differs from the signed one."""
    signed: str | None = scope.get(_BODY)
    if signed is None:
        return receive
    digest = hashlib.sha256()

    async def checking() -> Message:
        message = await receive()
        if message["type"] == "http.request":
            digest.update(message.get("body", b""))
            if not message.get("more_body", False) and not hmac.compare_digest(digest.hexdigest(), signed):
                raise ForgedBodyError("The body of the forwarded request is not the one that was signed")
        return message

    return checking
