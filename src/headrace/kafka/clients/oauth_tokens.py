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

log = logging.getLogger(__name__)

_RETRY_INTERVAL_S: Final = 10.0
"""Seconds between attempts to renew a token; fewer as its end comes near."""
_MIN_RETRY_INTERVAL_S: Final = 1.0
_MIN_RENEWAL_INTERVAL_S: Final = 0.5
_sources: weakref.WeakValueDictionary[OAuthSettings, TokenSource] = weakref.WeakValueDictionary()
_sources_lock = threading.Lock()


def token_source(settings: OAuthSettings) -> TokenSource:
    """Return the process' source for ``settings``, with a valid token. Blocks; raises as ``request_token``."""
    with _sources_lock:
        source = _sources.get(settings)
        if source is None:
            source = _sources[settings] = TokenSource(settings)
    source.ensure()
    return source


def renewal_time(token: Token, times: RefreshTimes, now: float, jitter: float = 0.0) -> float:
    """Return the time to renew ``token``; ``jitter`` is between 0 and 1. Java: ``refreshMs``."""
    planned = token.issued + (token.expires - token.issued) * (times.window + times.jitter * jitter)
    if times.min_period + times.buffer <= token.expires - now:
        planned = max(min(planned, token.expires - times.buffer), now + times.min_period)
    return min(planned, token.expires)


class TokenSource:
    """A token that is renewed for as long as there is a reference to its source. Thread-safe."""

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
        self._failing = False

    def ensure(self) -> None:
        """Wait for a valid token; while the endpoint is away, for ``sasl.login.retry.backoff.max.ms``."""
        with self._requesting:
            if self._valid_token() is None:
                self._use(self._request_with_retries())

    def current(self) -> Token:
        """Return the token. Does not block. RetriableKafkaError if it has expired and could not be renewed yet."""
        token = self._valid_token()
        if token is None:
            raise RetriableKafkaError(f"There is no token of {self._settings.url} at present that has not expired")
        return token

    def for_librdkafka(self, _config: str) -> tuple[str, float, str, dict[str, str]]:
        """Return a token for librdkafka, which calls at 80% of the last one's lifetime, on a thread that may block."""
        with self._requesting:
            token = self._token
            if token is None or self._clock() >= renewal_time(token, self._settings.refresh, token.issued):
                self._renew()
        token = self.current()
        return token.value, token.expires, "", self.extensions

    @property
    def extensions(self) -> dict[str, str]:
        """The SASL extensions sent with each token (the login module's options ``extension_…``)."""
        return dict(self._settings.extensions)

    def _valid_token(self) -> Token | None:
        token = self._token
        return token if token is not None and token.expires > self._clock() else None

    def _request_with_retries(self) -> Token:
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

    def _use(self, token: Token) -> None:
        self._token = token
        now = self._clock()
        at = renewal_time(token, self._settings.refresh, now, random.random())
        # A file's token may still be the previous one: that must not make a loop of reads.
        self._schedule_renewal(
            max(at - now, min(_RETRY_INTERVAL_S, (token.expires - now) / 4), _MIN_RENEWAL_INTERVAL_S)
        )

    def _renew(self) -> None:
        """Renew the token with ``_requesting`` held; a failure is logged once, and a valid token stays in use."""
        try:
            self._use(self._request(self._settings))
        except Exception as error:  # of whatever kind: no other thread would try again
            if not self._failing:
                log.warning("A token for OAUTHBEARER cannot be renewed, trying again: %s", error)
            self._failing = True
            self._schedule_renewal(self._retry_after())
            return
        if self._failing:
            log.info("Tokens for OAUTHBEARER can be renewed again (%s)", self._settings.url)
        self._failing = False

    def _retry_after(self) -> float:
        remaining = self._token.expires - self._clock() if self._token is not None else 0.0
        return min(max(remaining / 4, _MIN_RETRY_INTERVAL_S), _RETRY_INTERVAL_S)

    def _schedule_renewal(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # A weak reference: with its last client the source is gone, and its token is not renewed any more.
        self._timer = threading.Timer(seconds, _renew, [weakref.ref(self)])
        self._timer.daemon = True
        self._timer.name = "oauth-token"
        self._timer.start()


def _renew(reference: weakref.ref[TokenSource]) -> None:
    source = reference()
    if source is not None:
        with source._requesting:
            source._renew()
