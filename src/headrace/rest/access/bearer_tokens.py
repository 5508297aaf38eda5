# SPDX-License-Identifier: Apache-2.0
"""Bearer tokens (JWT) of an OpenID Connect issuer, and its public keys."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Scope

from headrace.api.errors import ConfigError
from headrace.config.access_config import (
    AUTHENTICATION,
    JWT,
    JWT_AUDIENCE,
    JWT_GROUPS_CLAIM,
    JWT_ISSUER,
    JWT_KEYS_URL,
    JWT_USER_CLAIM,
)
from headrace.config.worker_config import WorkerConfig
from headrace.rest.access.authentication import Principal, RefusedCredentialsError, UndecidedCredentialsError

log = logging.getLogger(__name__)

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric ones only: a shared secret would let every verifier issue tokens."""
_LEEWAY_SECONDS: Final = 30
_FETCH_SECONDS: Final = 10
_THREADS: Final = 2
_LONGEST: Final = 16_384
"""Characters of a token."""
_FRESH_SECONDS: Final = 300.0
_STALE_SECONDS: Final = 3600.0
_PAUSE_SECONDS: Final = 30.0
Keys = Mapping[str, Any]


class BearerTokens:
    """Authentication by tokens: checks signature, issuer, audience and times. Belongs to the server's event loop.

    It has threads of its own: an issuer that does not answer delays no login by password.
    """

    scheme: Final = 'Bearer realm="headrace"'

    def __init__(self, config: WorkerConfig) -> None:
        """Raise ConfigError without issuer and audience, or without the library."""
        for name in (JWT_ISSUER, JWT_AUDIENCE):
            if not config.get(name):
                raise ConfigError.invalid(name, None, f"{AUTHENTICATION}={JWT} needs it")
        try:
            import jwt
        except ImportError as error:
            reason = "needs PyJWT: install headrace with the extra 'auth'"
            raise ConfigError(f"{AUTHENTICATION}={JWT} {reason}", AUTHENTICATION) from error
        self._jwt: Any = jwt
        self._issuer, self._audience = str(config.get(JWT_ISSUER)), str(config.get(JWT_AUDIENCE))
        self._keys_url: str | None = config.get(JWT_KEYS_URL)
        self._user_claim, self._groups_claim = config.get(JWT_USER_CLAIM), config.get(JWT_GROUPS_CLAIM)
        self._keys = IssuerKeys(self._fetch_keys)
        self._threads = ThreadPoolExecutor(_THREADS, "bearer-tokens")

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user, None without a bearer token. Raise RefusedCredentialsError for an invalid one."""
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        if len(token) > _LONGEST:
            raise RefusedCredentialsError("a bearer token that is too long")
        claims = await asyncio.get_running_loop().run_in_executor(self._threads, self._claims, token.strip())
        name = claims.get(self._user_claim)
        if not isinstance(name, str) or not name:
            raise RefusedCredentialsError(f"a bearer token without the claim {self._user_claim}")
        return Principal(name, _groups(claims.get(self._groups_claim)), JWT)

    def _claims(self, token: str) -> Mapping[str, Any]:
        try:
            key = self._keys.key(self._jwt.get_unverified_header(token).get("kid"))
            claims: Mapping[str, Any] = self._jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (self._jwt.PyJWTError, ValueError, OverflowError, RecursionError) as error:
            raise RefusedCredentialsError(f"a bearer token that is not accepted: {str(error)!a:.200}") from error
        return claims

    def _fetch_keys(self) -> Keys:
        """Fetch the issuer's keys, for ``IssuerKeys``."""
        try:
            self._keys_url = self._keys_url or _discover_keys_url(self._issuer)
            client = self._jwt.PyJWKClient(self._keys_url, cache_jwk_set=False, timeout=_FETCH_SECONDS)
            return {key.key_id: key for key in client.get_signing_keys()}
        except (self._jwt.PyJWTError, OSError, HTTPException, ValueError, RecursionError) as error:
            raise KeysUnavailableError(str(error)) from error


def _discover_keys_url(issuer: str) -> str:
    """Return the URL of the issuer's keys. Raise OSError, HTTPException or ValueError if discovery fails."""
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as answer:
        document = json.load(answer)
    found = document.get("jwks_uri") if isinstance(document, dict) else None
    if not isinstance(found, str):
        raise ValueError(f"{url} names no jwks_uri")
    return found


def _groups(claim: Any) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset(claim.split())
    return frozenset(group for group in claim if isinstance(group, str)) if isinstance(claim, list) else frozenset()


class KeysUnavailableError(Exception):
    """The issuer does not answer, or not with keys."""


class IssuerKeys:
    """A cache of keys by id, fetched when they are five minutes old, and for an unknown id.

    Fetches are at least 30 seconds apart, whatever ids come and whether they succeed, so strangers cannot flood the
    issuer. If it does not answer, the keys stay valid until they are an hour old. Thread-safe; a thread waits for a
    fetch only if there are no valid keys.
    """

    def __init__(self, fetch: Callable[[], Keys], clock: Callable[[], float] = time.monotonic) -> None:
        """``fetch`` blocks, and raises KeysUnavailableError on failure."""
        self._fetch = fetch
        self._clock = clock
        self._fetching = threading.Lock()
        self._keys: Keys = {}
        self._fetched: float | None = None
        self._tried: float | None = None

    def key(self, kid: str | None) -> Any:
        """Return the key of an id. Raise RefusedCredentialsError if unknown, UndecidedCredentialsError without keys."""
        age = self._age(self._fetched)
        if kid not in self._keys or age >= _FRESH_SECONDS:
            with_keys = age < _STALE_SECONDS
            if self._fetching.acquire(blocking=not with_keys):
                try:
                    self._fetch_again()
                finally:
                    self._fetching.release()
        if self._age(self._fetched) >= _STALE_SECONDS:
            raise UndecidedCredentialsError("a bearer token, and the issuer's keys cannot be fetched")
        if kid is None or kid not in self._keys:
            raise RefusedCredentialsError(
                f"a bearer token by the key {str(kid)!a:.100}, which the issuer does not have"
            )
        return self._keys[kid]

    def _fetch_again(self) -> None:
        if self._age(self._tried) < _PAUSE_SECONDS:
            return
        self._tried = self._clock()
        try:
            self._keys = self._fetch()
        except KeysUnavailableError as error:
            log.warning("The keys of the issuer of bearer tokens cannot be fetched: %s", error)
        else:
            self._fetched = self._clock()

    def _age(self, since: float | None) -> float:
        return float("inf") if since is None else self._clock() - since
