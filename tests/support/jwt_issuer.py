# SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect issuer with a key set, over real sockets."""

from __future__ import annotations

import datetime
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "headrace"


class Issuer:
    """Serves from its making to ``close``."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(65537, 2048)
        self.kid = "one"
        self.fetched: list[str] = []
        """The paths that were asked for."""
        self.broken = False
        """As long as it is true, the answer is 503."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def token(self, key: Any = None, algorithm: str = "RS256", kid: str = "one", **claims: Any) -> str:
        """Return a token that is good unless a claim, None for one that is left out, says otherwise."""
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)
        given = {"iss": self.url, "aud": AUDIENCE, "sub": "vera", "exp": soon, **claims}
        wanted = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(wanted, key or self.key, algorithm, headers={"kid": kid})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> Any:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {
            "/.well-known/openid-configuration": {"jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [{**public, "kid": self.kid, "alg": "RS256", "use": "sig"}]},
        }[path]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched.append(self.path)
                body = json.dumps(issuer._answer(self.path)).encode()
                self.send_response(503 if issuer.broken else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        return Handler
