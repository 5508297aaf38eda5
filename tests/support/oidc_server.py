# SPDX-License-Identifier: Apache-2.0
"""A small OpenID Connect server: tokens for one client that knows its secret, and the key to check them with."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

CLIENT_ID: Final = "oauth-client"
CLIENT_SECRET: Final = "hush-oauth-secret"
SCOPE: Final = "kafka"


class OidcServer:
    """Serves from entry to exit. ``lifetime`` is that of the tokens, in seconds; each issue is in ``issued``."""

    def __init__(self, lifetime: float = 300) -> None:
        self.lifetime = lifetime
        self.issued: list[str] = []
        self.refusals = 0
        self.broken = False
        """As long as it is true, the answer is 503."""
        self._key = rsa.generate_private_key(65537, 2048)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def token_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/token"

    @property
    def jwks_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/jwks"

    def token(self, subject: str = CLIENT_ID, lifetime: float | None = None) -> str:
        """Return a signed token."""
        now = time.time()
        expires = now + (self.lifetime if lifetime is None else lifetime)
        claims = {"sub": subject, "scope": SCOPE, "iat": int(now), "exp": int(expires)}
        unsigned = f"{_encoded({'alg': 'RS256', 'kid': 'k', 'typ': 'JWT'})}.{_encoded(claims)}"
        return f"{unsigned}.{_base64(self._key.sign(unsigned.encode(), padding.PKCS1v15(), SHA256()))}"

    def _answer(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        known = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if self.broken:
            return 503, {"error": "temporarily_unavailable"}
        if authorization != f"Basic {known}":
            self.refusals += 1
            return 401, {"error": "invalid_client", "error_description": "who is that?", "sent": authorization}
        if form.get("grant_type") != ["client_credentials"] or form.get("scope") != [SCOPE]:
            return 400, {"error": "invalid_scope"}
        self.issued.append(token := self.token())
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": int(self.lifetime)}

    def _keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        n, e = numbers.n.to_bytes(256, "big"), numbers.e.to_bytes(3, "big")
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k", "n": _base64(n), "e": _base64(e)}
        return {"keys": [key]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(200, server._keys())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._send(*server._answer(self.headers.get("Authorization", ""), parse_qs(body)))

            def _send(self, status: int, answer: dict[str, Any]) -> None:
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _encoded(part: dict[str, Any]) -> str:
    return _base64(json.dumps(part).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
