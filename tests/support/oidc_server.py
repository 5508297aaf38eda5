# SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect server over real sockets: its key set, tokens, and an endpoint that gives them to one client."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE: Final = "headrace"
CLIENT_ID: Final = "oauth-client"
CLIENT_SECRET: Final = "hush-oauth-secret"
SCOPE: Final = "kafka"
_KID: Final = "one"
_BROKEN: Final = 503, {"error": "temporarily_unavailable"}


class OidcServer:
    """Serves from entry to exit. ``lifetime`` is that of the tokens, in seconds."""

    def __init__(self, lifetime: float = 300) -> None:
        self.lifetime = lifetime
        self.key = rsa.generate_private_key(65537, 2048)
        self.fetched: list[str] = []
        """The paths that were read."""
        self.issued: list[str] = []
        """The tokens that the endpoint gave."""
        self.refusals = 0
        self.broken = False
        """As long as it is true, the answer is 503."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.token_url = f"{self.url}/token"
        self.jwks_url = f"{self.url}/keys"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def token(self, key: Any = None, algorithm: str = "RS256", kid: str = _KID, **claims: Any) -> str:
        """Return a token that is good for the REST API unless a claim, None for one left out, says otherwise."""
        given = {"iss": self.url, "aud": AUDIENCE, "sub": "vera", "exp": int(time.time() + self.lifetime), **claims}
        wanted = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(wanted, key or self.key, algorithm, headers={"kid": kid})

    def client_token(self) -> str:
        """Return a token of the client's, for Kafka."""
        return self.token(iss=None, aud=None, sub=CLIENT_ID, scope=SCOPE, iat=int(time.time()))

    def _document(self, path: str) -> tuple[int, dict[str, Any]]:
        if self.broken:
            return _BROKEN
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return 200, {
            "/.well-known/openid-configuration": {"jwks_uri": self.jwks_url},
            "/keys": {"keys": [{**public, "kid": _KID, "alg": "RS256", "use": "sig"}]},
        }[path]

    def _grant(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        if self.broken:
            return _BROKEN
        known = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if authorization != f"Basic {known}":
            self.refusals += 1
            return 401, {"error": "invalid_client", "error_description": "who is that?", "sent": authorization}
        if form.get("grant_type") != ["client_credentials"] or form.get("scope") != [SCOPE]:
            return 400, {"error": "invalid_scope"}
        self.issued.append(token := self.client_token())
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": int(self.lifetime)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.fetched.append(self.path)
                self._send(*server._document(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._send(*server._grant(self.headers.get("Authorization", ""), parse_qs(body)))

            def _send(self, status: int, answer: dict[str, Any]) -> None:
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        return Handler
