# SPDX-License-Identifier: Apache-2.0
"""The endpoints of a worker's REST API: bound listeners, TLS and the advertised URL, from its properties."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.config.worker_config import WorkerConfig
from headrace.rest.server.listeners import BoundListener, BoundListeners
from headrace.rest.server.tls import ADMIN_PREFIX, LISTENERS_PREFIX, TlsProperties, calls_https
from headrace.rest.watched_files import WatchedFiles


@dataclass(frozen=True, slots=True)
class TlsContexts:
    """Contexts for the https listeners, those of ``admin.listeners``, and calls to other workers; None: not needed.

    When certificate files change, connections that begin a second later use the new ones.
    """

    server: ssl.SSLContext | None = None
    admin: ssl.SSLContext | None = None
    client: Callable[[], ssl.SSLContext] | None = None

    def of(self, bound: BoundListener) -> ssl.SSLContext | None:
        """Return the context of a listener, None for http."""
        if bound.listener.scheme != "https":
            return None
        return self.admin if bound.admin else self.server


NO_TLS: Final = TlsContexts()


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Bound sockets before anything serves them: opened first, as that is quick and reports mistakes at once."""

    listeners: BoundListeners
    tls: TlsContexts
    advertised_url: str
    """The URL by which other workers reach this one."""

    @classmethod
    def open(cls, config: WorkerConfig) -> Endpoints:
        """Bind the listeners. Raise ConfigError, of one line, for unusable addresses and files."""
        listeners = BoundListeners.bind(config.listeners, config.admin_listeners or ())
        try:
            tls = tls_contexts(config.raw, listeners)
        except BaseException:
            listeners.close()
            raise
        scheme = config.get("rest.advertised.listener")
        advertised = listeners.advertised_url(
            config.get("rest.advertised.host.name"), config.get("rest.advertised.port"), scheme and scheme.lower()
        )
        return cls(listeners, tls, advertised)

    def close(self) -> None:
        """Close the sockets."""
        self.listeners.close()


def tls_contexts(raw: Mapping[str, str], listeners: BoundListeners) -> TlsContexts:
    """Make the contexts by a worker's properties. Raise ConfigError, with property and file, if they are unusable.

    Calls to other workers use the properties of ``listeners``, and the same certificate where a client needs one.
    """
    https = [each.admin for each in listeners.bound if each.listener.scheme == "https"]
    regular = TlsProperties(raw, LISTENERS_PREFIX) if False in https or calls_https(raw) else None
    return TlsContexts(
        _renewed(regular) if regular and False in https else None,
        _renewed(TlsProperties(raw, ADMIN_PREFIX)) if True in https else None,
        WatchedFiles(regular.files(), regular.client_context).get if regular else None,
    )


def _renewed(properties: TlsProperties) -> ssl.SSLContext:
    """Return a context for listeners that takes the current files' certificates at each handshake."""
    contexts = WatchedFiles(properties.files(), properties.server_context)
    first = contexts.get()

    def renew(handshake: ssl.SSLSocket | ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        # Called at each handshake, with a name or without one.
        handshake.context = contexts.get()

    first.sni_callback = renew
    return first
