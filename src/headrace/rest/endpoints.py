# SPDX-License-Identifier: Apache-2.0
"""The endpoints of a worker's REST API: bound listeners, TLS and the advertised URL, from its properties."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config.worker_config import WorkerConfig
from headrace.rest.listeners import BoundListeners
from headrace.rest.tls import TlsContexts, tls_contexts


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
        self.listeners.close()
