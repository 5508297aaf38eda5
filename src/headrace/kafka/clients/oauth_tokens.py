# SPDX-License-Identifier: Apache-2.0
"""Tokens for OAUTHBEARER, renewed before they expire and shared by all clients of a process with the same settings.

Java: ``ExpiringCredentialRefreshingLogin``.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final

from headrace.kafka.clients.oauth_requests import Token, request_token
from headrace.kafka.clients.oauth_settings import OAuthSettings, RefreshTimes
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.backoff import ExponentialBackoff

_log = logging.getLogger(__name__)

_RETRY_AFTER: Final = 10.0
"""Seconds between attempts to renew a token; fewer as its end comes near."""
_RETRY_SOONEST: Final = 1.0
_SOONEST: Final = 0.5
_sources: weakref.WeakValueDictionary[OAuthSettings, TokenSource] = weakref.WeakValueDictionary()
_sources_lock = threading.Lock()


def token_source(settings: OAuthSettings) -> TokenSource:
    """Return the process' source for ``settings``, with a token that is good. Blocks; raises as ``request_token``."""
    with _sources_lock:
        source = _sources.get(settings)
        if source is None:
            source = _sources[settings] = TokenSource(settings)
    source.ensure()
    return source


def renewal(token: Token, times: RefreshTimes, now: float, jitter: float = 0.0) -> float:
    """Return when to renew ``token``; ``jitter`` is between 0 and 1. Java: ``refreshMs``."""
    planned = token.issued + (token.expires - token.issued) * (times.window + times.jitter * jitter)
    if times.min_period + times.buffer <= token.expires - now:
        planned = max(min(planned, token.expires - times.buffer), now + times.min_period)
    return min(planned, token.expires)


class TokenSource:
    """Renews its token for as long as somebody has a reference to it. Thread-safe."""

    def __init__(
        self,
        settings: OAuthSettings,
        request: Callable[[OAuthSettings], Token] = request_token,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._request = request
        self._clock = clock
        self._sleep = sleep
        self._token: Token | None = None
        self._requesting = threading.Lock()
        self._timer: threading.Timer | None = None
        self._troubled = False

    def ensure(self) -> None:
        """Return when there is a good token; tries for ``sasl.login.retry.backoff.max.ms`` while nobody answers."""
        with self._requesting:
            if self._good() is None:
                self._take(self._requested())

    def current(self) -> Token:
        """Return the token. Does not block. RetriableKafkaError if it has expired and could not be renewed yet."""
        token = self._good()
        if token is None:
            raise RetriableKafkaError(f"There is no token of {self._settings.url} at present that has not expired")
        return token

    def for_librdkafka(self, _config: str) -> tuple[str, float, str, dict[str, str]]:
        """Return what librdkafka asks for at 80% of the last answer's life, on a thread that may block."""
        with self._requesting:
            token = self._token
            if token is None or self._clock() >= renewal(token, self._settings.refresh, token.issued):
                self._renew()
        token = self.current()
        return token.value, token.expires, "", self.extensions

    @property
    def extensions(self) -> dict[str, str]:
        """What is sent along with each token (the login module's options ``extension_…``)."""
        return dict(self._settings.extensions)

    def _good(self) -> Token | None:
        token = self._token
        return token if token is not None and token.expires > self._clock() else None

    def _requested(self) -> Token:
        times = self._settings.request
        waited, pauses = 0.0, ExponentialBackoff(times.backoff, times.longest).pauses()
        while True:
            try:
                return self._request(self._settings)
            except RetriableKafkaError:
                if waited >= times.longest:
                    raise
            pause = min(next(pauses), times.longest - waited)
            self._sleep(pause)
            waited += pause

    def _take(self, token: Token) -> None:
        self._token = token
        now = self._clock()
        at = renewal(token, self._settings.refresh, now, random.random())
        # A file's token may still be the one before: that is no reason to read it on and on.
        self._wake_after(max(at - now, min(_RETRY_AFTER, (token.expires - now) / 4), _SOONEST))

    def _renew(self) -> None:
        """With ``_requesting`` held; a failure is logged once, and the present token goes on as long as it is good."""
        try:
            self._take(self._request(self._settings))
        except Exception as error:  # of whatever kind: nobody else would ask again
            if not self._troubled:
                _log.warning("A token for OAUTHBEARER cannot be renewed, trying again: %s", error)
            self._troubled = True
            self._wake_after(self._retry_after())
            return
        if self._troubled:
            _log.info("Tokens for OAUTHBEARER can be renewed again (%s)", self._settings.url)
        self._troubled = False

    def _retry_after(self) -> float:
        remaining = self._token.expires - self._clock() if self._token is not None else 0.0
        return min(max(remaining / 4, _RETRY_SOONEST), _RETRY_AFTER)

    def _wake_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # A weak reference: the last client that goes takes the source along, and nobody renews for nobody.
        self._timer = threading.Timer(seconds, _renew, [weakref.ref(self)])
        self._timer.daemon = True
        self._timer.name = "oauth-token"
        self._timer.start()


def _renew(reference: weakref.ref[TokenSource]) -> None:
    source = reference()
    if source is not None:
        with source._requesting:
            source._renew()
