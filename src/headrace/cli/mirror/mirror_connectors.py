# SPDX-License-Identifier: Apache-2.0
"""The connectors of a pair of clusters, which the leader of its group configures. Java: ``MirrorHerder``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from headrace.api.errors import ConnectError, RetriableError
from headrace.cli.mirror.mirror_config import Pair
from headrace.herder.core.herder_state import Phase
from headrace.herder.errors import (
    NotFoundError,
    NotLeaderError,
    OvertakenError,
    RebalanceNeededError,
    RequestTimeoutError,
)
from headrace.logs import audit
from headrace.model.cluster_config_state import Config
from headrace.model.service_threads import ServiceThread

if TYPE_CHECKING:
    from headrace.herder.engine.worker_herder import WorkerHerder

log = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.5
_AGAIN: Final = (RetriableError, NotLeaderError, OvertakenError, RebalanceNeededError, RequestTimeoutError)
"""Errors that pass. Before the next attempt it is checked that this worker still leads."""


class MirrorConnectors:
    """A watch over a worker's leadership, which writes the configurations that differ whenever it becomes the leader.

    A configuration that is refused ends the worker if there is no such connector yet; otherwise the connector continues
    as it is.
    """

    def __init__(
        self,
        pair: Pair,
        configs: Mapping[str, Config],
        herder: WorkerHerder,
        worker: str,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """``worker``: host:port of this one, for the audit."""
        self._pair = pair
        self._configs = configs
        self._herder = herder
        self._worker = worker
        self._wait = wait
        self._settled: Future[None] = Future()
        self._thread = ServiceThread(
            "mirror-connectors", self._watch, "connectors are not configured when this worker becomes the leader"
        )

    def begin(self) -> Future[None]:
        """Begin to watch. The future ends when the worker is in its group and, if it leads, has configured all."""
        self._thread.start()
        return self._settled

    def join(self, timeout: float) -> None:
        """Wait for the end of the watch, which comes with that of the herder."""
        self._thread.join(timeout)

    def _watch(self) -> None:
        configured = False
        while self._herder.failure() is None and self._herder.state.phase is not Phase.STOPPED:
            membership = self._herder.state.membership
            leads = membership is not None and membership.is_leader
            configured = leads and (configured or self._configure())
            if membership is not None and configured == leads and not self._settled.done():
                self._settled.set_result(None)
            self._wait(_POLL_SECONDS)

    def _configure(self) -> bool:
        """Write the configurations that differ. Return False if that has to be tried again."""
        log.info("This worker leads the group of %s; configuring its connectors", self._pair)
        try:
            for name, config in self._configs.items():
                if self._herder.failure() is not None:
                    return False
                if self._present(name) == config:
                    log.info("The configuration of %s for %s is up to date", name, self._pair)
                else:
                    self._put(name, config)
        except _AGAIN as error:
            log.info("The connectors of %s are not configured yet: %s", self._pair, error)
            return False
        return True

    def _present(self, name: str) -> Config | None:
        try:
            return self._herder.connector_info(name).config
        except NotFoundError:
            return None

    def _put(self, name: str, config: Config) -> None:
        what = f"connector {name} of {self._pair}"
        try:
            self._herder.put_connector_config(name, config, target_state=None, allow_replace=True).result()
        except _AGAIN:
            raise
        except ConnectError as error:
            audit.write_own(audit.FILE, self._worker, what, connector=name, failed=True)
            if self._present(name) is None:
                self._herder.fail(ConnectError(f"Connector {name}: {error}"))
            else:
                log.error("Connector %s of %s continues as it was, for its new configuration is refused: %s",
                          name, self._pair, error)  # fmt: skip
        else:
            audit.write_own(audit.FILE, self._worker, what, connector=name)
            log.info("Configured %s for %s", name, self._pair)
