# SPDX-License-Identifier: Apache-2.0
"""Notices when values that a running connector's or task's configuration refers to have changed (KIP-297)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from headrace.plugins.resolved_config import ResolvedConfig

log = logging.getLogger(__name__)

After = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Has the second argument called in so many seconds, on a thread that it may block; returns what prevents that."""


def after(seconds: float, work: Callable[[], None]) -> Callable[[], None]:
    """The real one."""
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


class ConfigWatch:
    """Of one connector or task. Looks the values up again whenever their time to live is over. Thread-safe.

    Values that cannot be looked up just then are looked up later: what runs goes on with those that it has.
    """

    def __init__(
        self, name: str, resolve: Callable[[], ResolvedConfig], changed: Callable[[], None], after: After
    ) -> None:
        """``resolve`` may block; ``changed`` must not, and is called once: it has to ``begin`` anew."""
        self._name = name
        self._resolve = resolve
        self._changed = changed
        self._after = after
        self._lock = threading.Lock()
        self._watched: ResolvedConfig | None = None
        self._cancel: Callable[[], None] | None = None
        self._closed = False

    def begin(self, resolved: ResolvedConfig) -> None:
        """From now on ``resolved`` is what runs. Does nothing where values are good for good, or nobody cares."""
        with self._lock:
            self._forget()
            if resolved.reloads and resolved.ttl is not None and not self._closed:
                self._watched = resolved
                self._cancel = self._after(resolved.ttl, lambda: self._look(resolved))

    def end(self) -> None:
        """Until the next ``begin``."""
        with self._lock:
            self._forget()

    def close(self) -> None:
        """For good, whatever begins it later."""
        with self._lock:
            self._closed = True
            self._forget()

    def _forget(self) -> None:
        if self._cancel is not None:
            self._cancel()
        self._watched = self._cancel = None

    def _look(self, former: ResolvedConfig) -> None:
        try:
            current = self._resolve()
        except Exception as error:  # a provider's own, too: the watch must not end with it
            log.warning("%s: references cannot be looked up again, will try later: %s", self._name, error)
            current = former
        with self._lock:
            if self._watched is not former:
                return
        if current.values == former.values:
            self.begin(former if current.ttl is None else current)
            return
        self.end()
        log.info("%s: values that its configuration refers to have changed, so it is restarted", self._name)
        self._changed()
