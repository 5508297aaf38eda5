# SPDX-License-Identifier: Apache-2.0
"""The public keys of a token issuer, refreshed periodically so that withdrawn keys expire."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.rest.access.authentication import RefusedCredentialsError, UndecidedCredentialsError

log = logging.getLogger(__name__)

_FRESH_SECONDS: Final = 300.0
_STALE_SECONDS: Final = 3600.0
_PAUSE_SECONDS: Final = 30.0

Keys = Mapping[str, Any]


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
