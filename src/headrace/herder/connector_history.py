# SPDX-License-Identifier: Apache-2.0
"""The throughput and lag of connectors over the last hour, added up from the workers that have run them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import Json, PartRequest, WorkerParts
from headrace.worker.rate_history import PERIOD_S, History, added, history_of
from headrace.worker.stages import Stages


class HistoryRequests(Protocol):
    """Requests to any other worker of the group."""

    def worker_history(self, worker_id: str, connector: str | None) -> Json:
        """Return a worker's own history as JSON, of a connector or of all. Errors as ``WorkerRequests``."""


@dataclass(frozen=True, slots=True)
class HistoryServices:
    """The sources of the history: this worker's own, and the other workers, None for a worker that is alone."""

    worker_id: str
    own: Callable[[str | None], History]
    others: HistoryRequests | None = None


class ConnectorHistory:
    """Answers about the past of a connector or of all, from any worker. Blocks only threads of its own."""

    def __init__(self, queries: HerderQueries, services: HistoryServices, parts: WorkerParts, stages: Stages) -> None:
        self._queries = queries
        self._services = services
        self._parts = parts
        self._stages = stages

    def of(self, connector: str | None) -> Future[Json]:
        """Return the history of a connector, or of all, as JSON: times in milliseconds, the oldest value first.

        ``missing`` has each worker that did not answer, with the reason. All workers that run anything are asked, as a
        task may have run on any of them.
        """
        name = "history" if connector is None else f"history of connector {connector}"
        return self._stages.run_in_background(name, partial(self._of, connector))

    def here(self, connector: str | None) -> Json:
        """Return this worker's own part as JSON, which ``history_of`` reads."""
        return self._services.own(connector).to_json()

    def _of(self, connector: str | None) -> Json:
        others = self._services.others
        request = PartRequest(
            "history",
            partial(self._services.own, connector),
            None if others is None else lambda worker: others.worker_history(worker, connector),
            history_of,
        )
        answers = self._parts.collect(self._workers(), request)
        found = added(answer for answer in answers.values() if isinstance(answer, History))
        return {
            "until": found.until * 1000,
            "period": PERIOD_S * 1000,
            "records_per_second": found.records_per_second,
            "lag": found.lag,
            "missing": {worker: answer for worker, answer in answers.items() if isinstance(answer, str)},
        }

    def _workers(self) -> set[str]:
        return {self._services.worker_id} | self._queries.workers()
