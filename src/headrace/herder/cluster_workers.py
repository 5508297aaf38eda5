# SPDX-License-Identifier: Apache-2.0
"""All workers of the cluster, also those that run nothing, each with its own figures and its lag behind the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from prometheus_client import ProcessCollector

from headrace import __version__
from headrace.api.errors import ConnectError
from headrace.herder.core.herder_state import HerderState
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import Json, PartRequest, WorkerParts
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.info import SparkCores, WorkerInfo, WorkersInfo
from headrace.worker.stages import Stages
from headrace.worker.worker import Worker

_REFRESH_S: Final = 2.0
"""Seconds that a read of the config topic to its end may take."""
_SPARK_S: Final = 1.0
"""Seconds that Spark has to return its cores."""
_MEMBERS: Final = "members"


class ReportRequests(Protocol):
    """Requests to any other worker of the group."""

    def worker_report(self, worker_id: str) -> Json:
        """Return a worker's own report, as ``ClusterWorkers.here``. Errors as ``WorkerRequests``."""


@dataclass(frozen=True, slots=True)
class WorkerSources:
    """The sources of what a worker reports: its own parts, and the other workers, None for a worker that is alone."""

    url: str
    worker: Worker
    state: Callable[[], HerderState]
    """The herder's newest published state."""
    refresh: Callable[[float], ClusterConfigState]
    """Reads the config topic to its end, within so many seconds, and returns its state. Raises ConnectError."""
    members: Callable[[], Collection[str]] = tuple
    """The REST URLs of the group's members if this worker leads it; empty if not."""
    others: ReportRequests | None = None


class ClusterWorkers:
    """Answers about all workers, from any of them. Methods but ``all`` block; any thread may call them."""

    def __init__(self, queries: HerderQueries, sources: WorkerSources, parts: WorkerParts, stages: Stages) -> None:
        self._queries = queries
        self._sources = sources
        self._parts = parts
        self._stages = stages
        self._own = urlsplit(sources.url).netloc

    def all(self) -> Future[WorkersInfo]:
        """Return all members of the group. Blocks a thread of its own, six seconds at most."""
        return self._stages.run_in_background("reports of all workers", self._all)

    def here(self) -> Json:
        """Return this worker's report as JSON: its figures and, if it leads the group, the URLs of the members."""
        return {**asdict(self._report()), _MEMBERS: sorted(self._sources.members())}

    def ids(self) -> frozenset[str]:
        """Return the ids of all members, by the leader.

        While it does not answer, or there is none, those of the workers that statuses name, and the leader's.
        """
        leader, others = self._leader(), self._sources.others
        urls = self._sources.members()
        if not urls and leader not in (None, self._own) and others is not None:
            urls = _members_of(others, leader)
        known = {urlsplit(url).netloc for url in urls} or {*self._queries.workers(), *filter(None, [leader])}
        return frozenset(known | {self._own})

    def _all(self) -> WorkersInfo:
        end, leader, others = self._end(), self._leader(), self._sources.others
        there = None if others is None else others.worker_report
        answers = self._parts.collect(self.ids(), PartRequest("report", self._report, there, _report_of))
        reports = sorted(
            (answer for answer in answers.values() if isinstance(answer, WorkerInfo)), key=lambda each: each.worker_id
        )
        # A worker that cannot read the topic to its end learns from the others how far it is behind them.
        end = max(end, *(report.config_offset for report in reports))
        return WorkersInfo(
            leader,
            end,
            tuple(
                replace(each, leader=each.worker_id == leader, config_lag=end - each.config_offset) for each in reports
            ),
            {worker: answer for worker, answer in sorted(answers.items()) if isinstance(answer, str)},
        )

    def _end(self) -> int:
        """Return the end of the config topic, or how far this worker has read if it cannot be found out."""
        try:
            return self._sources.refresh(_REFRESH_S).offset
        except ConnectError:
            return self._sources.state().config.offset

    def _leader(self) -> str | None:
        membership = self._sources.state().membership
        return None if membership is None else urlsplit(membership.leader_url).netloc

    def _report(self) -> WorkerInfo:
        worker, process = self._sources.worker, _process_figures()
        return WorkerInfo(
            worker_id=self._own,
            url=self._sources.url,
            version=__version__,
            started_at=int(process.get("process_start_time_seconds", 0) * 1000),
            connectors=len(worker.connector_names()),
            tasks=len(worker.task_ids()),
            spark=_result_or_none(worker.spark_cores()),
            memory_bytes=int(process.get("process_resident_memory_bytes", 0)),
            load=os.getloadavg()[0],
            cpus=os.cpu_count() or 1,
            config_offset=self._sources.state().config.offset,
        )


def _process_figures() -> Mapping[str, float]:
    return {metric.name: metric.samples[0].value for metric in ProcessCollector(registry=None).collect()}


def _result_or_none(cores: Future[SparkCores | None]) -> SparkCores | None:
    try:
        return cores.result(_SPARK_S)
    except (TimeoutError, ConnectError):
        return None


def _members_of(others: ReportRequests, leader: str | None) -> Collection[str]:
    """Return the URLs of the members by the leader's report; none if it gives no such answer."""
    assert leader is not None
    try:
        return [str(url) for url in others.worker_report(leader)[_MEMBERS]]
    except (ConnectError, KeyError, TypeError, ValueError):
        return ()


def _report_of(found: Json) -> WorkerInfo:
    """Return another worker's report; fields that only newer versions have are left out."""
    known: dict[str, Any] = {field.name: found[field.name] for field in fields(WorkerInfo)}
    cores = known["spark"]
    known["spark"] = None if cores is None else SparkCores(cores["executors"], cores["total"], cores["busy"])
    return WorkerInfo(**known)
