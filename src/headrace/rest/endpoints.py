# SPDX-License-Identifier: Apache-2.0
"""Where a worker's REST API is served, by its properties."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config.worker_config import WorkerConfig
from headrace.rest.listeners import BoundListeners
from headrace.rest.tls import TlsContexts, tls_contexts


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the API is served, before anything serves it: made first, for it is quick and tells mistakes at once."""

    listeners: BoundListeners
    tls: TlsContexts
    advertised_url: str
    """Where other workers reach this one."""

    @classmethod
    def open(cls, config: WorkerConfig) -> Endpoints:
        """ConfigError, of one line, for what cannot be listened at, and for files that cannot be used."""
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
