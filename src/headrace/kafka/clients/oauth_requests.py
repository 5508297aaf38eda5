# SPDX-License-Identifier: Apache-2.0
"""One token for OAUTHBEARER, from a token endpoint or a file. Java: ``HttpJwtRetriever``, ``FileJwtRetriever``."""

from __future__ import annotations

import base64
import binascii
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import quote_plus

from headrace.api.errors import ConfigError
from headrace.kafka.clients.oauth_settings import URL, Credentials, OAuthSettings
from headrace.kafka.errors import RetriableKafkaError

_MAX_ANSWER_BYTES: Final = 1 << 20
_RETRIABLE_STATUSES: Final = frozenset({408, 425, 429})
_ERROR_FIELDS: Final = ("error", "error_description")
"""The fields of an endpoint's refusal that messages show (RFC 6749): the rest of its answer could hold a secret."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and the times between which it is valid, in seconds since 1970."""

    value: str = field(repr=False)
    issued: float
    expires: float


def request_token(settings: OAuthSettings) -> Token:
    """Request a token from the endpoint, or read it from the file, and return it. Blocks.

    Raises:
        ConfigError: the endpoint refuses the client, or its answer is no token.
        RetriableKafkaError: the endpoint does not answer at present, or the token has expired.
    """
    name = settings.file
    text, lifetime = (_of_file(settings, name), None) if name is not None else _of_endpoint(settings)
    token = _parsed(settings, text, lifetime)
    if token.expires <= time.time():
        raise RetriableKafkaError(f"The token of {URL}={settings.url} has expired {_ago(token.expires)} ago")
    return token


def _of_file(settings: OAuthSettings, name: str) -> str:
    try:
        return Path(name).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError.invalid(URL, settings.url, f"the token cannot be read: {why}") from error


def _of_endpoint(settings: OAuthSettings) -> tuple[str, float | None]:
    # Slow to import and needed here alone, as is what reads keys.
    import httpx2

    assert settings.credentials is not None
    form = {"grant_type": "client_credentials"}
    if settings.credentials.scope:
        form["scope"] = settings.credentials.scope
    times = settings.request
    try:
        answer = httpx2.post(
            settings.url,
            data=form,
            headers={"Authorization": _basic(settings.credentials), "Accept": "application/json"},
            timeout=httpx2.Timeout(times.read_timeout, connect=times.connect_timeout),
            verify=_context(settings),
        )
    except httpx2.HTTPError as error:
        why = str(error) or type(error).__name__
        raise RetriableKafkaError(f"{URL}={settings.url} does not answer: {why}") from error
    if answer.status_code != 200:
        raise _refusal(settings, answer.status_code, answer.content)
    return _answered(settings, answer.content)


def _context(settings: OAuthSettings) -> SSLContext:
    from headrace.kafka.clients.tls_properties import client_context

    return client_context(dict(settings.tls))


def _basic(credentials: Credentials) -> str:
    pair = (credentials.client_id, credentials.client_secret)
    joined = ":".join(map(quote_plus, pair) if credentials.url_encoded else pair)
    return f"Basic {base64.b64encode(joined.encode()).decode()}"


def _refusal(settings: OAuthSettings, status: int, content: bytes) -> ConfigError | RetriableKafkaError:
    answered = _json(content)
    details = "".join(f", {answered[name]}" for name in _ERROR_FIELDS if isinstance(answered.get(name), str))
    if status >= 500 or status in _RETRIABLE_STATUSES:
        return RetriableKafkaError(f"{URL}={settings.url} gives no token at present: it answers {status}{details}")
    assert settings.credentials is not None
    return ConfigError.invalid(
        URL,
        settings.url,
        f"it gives no token to client '{settings.credentials.client_id}': it answers {status}{details}; see clientId, "
        "clientSecret and scope, in sasl.jaas.config or as sasl.oauthbearer.client.credentials.*",
    )


def _answered(settings: OAuthSettings, content: bytes) -> tuple[str, float | None]:
    answered = _json(content) if len(content) <= _MAX_ANSWER_BYTES else {}
    token = answered.get("access_token") or answered.get("id_token")
    if not isinstance(token, str):
        raise ConfigError.invalid(URL, settings.url, "its answer is no JSON object with an access_token")
    lifetime = answered.get("expires_in")
    return token.strip(), float(lifetime) if isinstance(lifetime, int | float) else None


def _parsed(settings: OAuthSettings, text: str, lifetime: float | None) -> Token:
    """Return the token with the lifetime of its own claims if it is a JWT, else with that of the answer."""
    if not text or not text.isascii() or any(char.isspace() or not char.isprintable() for char in text):
        raise ConfigError.invalid(URL, settings.url, "what it gives is no token")
    now = time.time()
    claims = _claims(text)
    expires, issued = claims.get("exp"), claims.get("iat")
    if not isinstance(expires, int | float):
        if lifetime is None:
            raise ConfigError.invalid(URL, settings.url, "nothing says when its token expires (claim exp of a JWT)")
        return Token(text, now, now + lifetime)
    # By another machine's clock, which must not make the token's lifetime negative.
    return Token(text, min(issued, now) if isinstance(issued, int | float) else now, expires)


def _claims(token: str) -> dict[str, Any]:
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return _json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except binascii.Error:
        return {}


def _json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _ago(then: float) -> str:
    return f"{time.time() - then:.0f} s"
