# SPDX-License-Identifier: Apache-2.0
"""Settings of OAUTHBEARER tokens from Java's properties. Pure. Java: ``OAuthBearerLoginCallbackHandler``, KIP-768."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from headrace.api.errors import ConfigError

URL: Final = "sasl.oauthbearer.token.endpoint.url"
_HANDLER: Final = "sasl.login.callback.handler.class"
_RETRIEVER: Final = "sasl.oauthbearer.jwt.retriever.class"
_RETRIEVERS: Final = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
_CLIENT_ID: Final = ("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id")
_CLIENT_SECRET: Final = ("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret")
_EXTENSION: Final = "extension_"
_DEFAULT_TIMEOUT: Final = 10.0
"""Seconds, where Java would wait without limit."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A client's credentials, for the grant of type client_credentials."""

    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    url_encoded: bool = False
    """True to URL-encode id and secret first, as RFC 6749 requires and not every server expects."""


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """Times of requests for a token, in seconds: ``sasl.login.connect.timeout.ms`` and its neighbours."""

    connect_timeout: float = _DEFAULT_TIMEOUT
    read_timeout: float = _DEFAULT_TIMEOUT
    backoff: float = 0.1
    longest: float = 10.0


@dataclass(frozen=True, slots=True)
class RefreshTimes:
    """Times of a token's renewal (``sasl.login.refresh.*``): fractions of its lifetime, and seconds."""

    window: float = 0.8
    jitter: float = 0.05
    min_period: float = 60.0
    buffer: float = 300.0


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The source of tokens and the times of their renewal. Clients with equal settings share their tokens."""

    url: str
    credentials: Credentials | None
    extensions: tuple[tuple[str, str], ...] = ()
    tls: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The ``ssl.`` options of the login module, which are for the endpoint alone."""
    request: RequestTimes = RequestTimes()
    refresh: RefreshTimes = RefreshTimes()

    @property
    def file(self) -> str | None:
        """The file that has the token, None if an endpoint gives it."""
        parts = urlsplit(self.url)
        return unquote(parts.path) if parts.scheme == "file" else None


def oauth_settings(props: Mapping[str, str], options: Mapping[str, str]) -> OAuthSettings:
    """Return the settings of ``props`` and of the ``options`` of their ``sasl.jaas.config``.

    ConfigError, without any secret, for what is missing or not supported.
    """
    _refuse_other_classes(props)
    url = props.get(URL, "").strip()
    parts = urlsplit(url)
    if not (parts.scheme in ("http", "https") and parts.hostname) and not (parts.scheme == "file" and parts.path):
        raise ConfigError.invalid(
            URL,
            props.get(URL),
            "sasl.mechanism=OAUTHBEARER needs an http or https URL of a token endpoint, or file:///path of a token",
        )
    return OAuthSettings(
        url,
        None if parts.scheme == "file" else _credentials(props, options),
        _prefixed(options, _EXTENSION, cut=True),
        _prefixed(options, "ssl."),
        _request_times(props),
        _refresh_times(props),
    )


def _refuse_other_classes(props: Mapping[str, str]) -> None:
    handler = props.get(_HANDLER, "")
    if handler and handler.rpartition(".")[2] != "OAuthBearerLoginCallbackHandler":
        reason = "Java classes cannot be used; OAuthBearerLoginCallbackHandler is built in"
        raise ConfigError.invalid(_HANDLER, handler, reason)
    retriever = props.get(_RETRIEVER, "")
    if retriever and retriever.rpartition(".")[2] not in _RETRIEVERS:
        raise ConfigError.invalid(_RETRIEVER, retriever, f"must be one of {', '.join(_RETRIEVERS)}")


def _credentials(props: Mapping[str, str], options: Mapping[str, str]) -> Credentials:
    client_id = _first(props, _CLIENT_ID) or options.get("clientId")
    secret = _first(props, _CLIENT_SECRET) or options.get("clientSecret")
    for value, name, option in ((client_id, _CLIENT_ID[0], "clientId"), (secret, _CLIENT_SECRET[0], "clientSecret")):
        if not value:
            raise ConfigError(
                f"Missing configuration {name}: {URL}={props[URL]} needs it, or {option} in sasl.jaas.config", name
            )
    scope = props.get("sasl.oauthbearer.scope") or options.get("scope")
    encoded = props.get("sasl.oauthbearer.header.urlencode", "false").strip().lower() == "true"
    return Credentials(client_id or "", secret or "", scope, encoded)


def _first(props: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((props[name] for name in names if props.get(name)), None)


def _prefixed(options: Mapping[str, str], prefix: str, *, cut: bool = False) -> tuple[tuple[str, str], ...]:
    found = {name: text for name, text in options.items() if name.startswith(prefix)}
    return tuple(sorted((name[len(prefix) :] if cut else name, text) for name, text in found.items()))


def _request_times(props: Mapping[str, str]) -> RequestTimes:
    return RequestTimes(
        _number(props, "sasl.login.connect.timeout.ms", _DEFAULT_TIMEOUT * 1000) / 1000 or _DEFAULT_TIMEOUT,
        _number(props, "sasl.login.read.timeout.ms", _DEFAULT_TIMEOUT * 1000) / 1000 or _DEFAULT_TIMEOUT,
        _number(props, "sasl.login.retry.backoff.ms", 100) / 1000,
        _number(props, "sasl.login.retry.backoff.max.ms", 10_000) / 1000,
    )


def _refresh_times(props: Mapping[str, str]) -> RefreshTimes:
    return RefreshTimes(
        _number(props, "sasl.login.refresh.window.factor", 0.8),
        _number(props, "sasl.login.refresh.window.jitter", 0.05),
        _number(props, "sasl.login.refresh.min.period.seconds", 60),
        _number(props, "sasl.login.refresh.buffer.seconds", 300),
    )


def _number(props: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(props.get(name) or default)
    except ValueError:
        raise ConfigError.invalid(name, props[name], "must be a number") from None
    if not 0 <= value < float("inf"):
        raise ConfigError.invalid(name, props[name], "must be a number, 0 or more")
    return value
