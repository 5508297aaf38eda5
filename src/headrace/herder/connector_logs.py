# SPDX-License-Identifier: Apache-2.0
"""The log lines about a connector and its tasks, of all workers of the cluster."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.herder.herder import Herder
from headrace.logs import audit
from headrace.logs.context import context_of
from headrace.logs.log_ring import KeptLines, LogLine, LogRing
from headrace.logs.loggers import level_of, number_of

Json = dict[str, Any]
MOST_LINES: Final = 1000
_AT_ONCE: Final = 8
"""Workers that are asked at the same time."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """A choice of lines: ``after`` has a position by worker; a worker without one answers with its last lines.

    ``level`` is the least one, by its name in log4j; ``task`` is the number of the only task.
    """

    connector: str
    after: Mapping[str, str] = field(default_factory=dict)
    limit: int = 200
    level: str = "ALL"
    task: int | None = None

    @classmethod
    def checked(cls, connector: str, after: str, limit: int, level: str, task: int | None) -> LogQuery:
        """Return the query of a request's texts; ``after`` as ``positions`` of an answer. Raise BadRequestError."""
        known = level_of(level)
        if known is None:
            raise BadRequestError(f"level={level:.100} is no level of log lines")
        positions = dict(each.rpartition("=")[::2] for each in after.split(",") if each)
        if not all(worker and _POSITION.fullmatch(position) for worker, position in positions.items()):
            raise BadRequestError(f"after={after:.200} are no positions that an answer had")
        return cls(connector, positions, limit, known, task)

    def to_json(self) -> Json:
        return {**asdict(self), "after": dict(self.after)}


_POSITION: Final = re.compile(r"[0-9a-f]{1,16}:[0-9]{1,18}")


class ConnectorLogs:
    """Answers about log lines. Methods block for a short time, while other workers are asked; any thread may call."""

    def __init__(
        self,
        ring: LogRing,
        worker_id: str,
        herder: Herder,
        ask: Callable[[str, LogQuery], Json] | None = None,
    ) -> None:
        """``ask`` returns what ``here`` returns at another worker, or raises ConnectError; None without others."""
        self._ring = ring
        self._worker_id = worker_id
        self._herder = herder
        self._ask = ask
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """True if the worker stops: requests that wait for lines are answered without any."""
        return self._closed.is_set()

    def close(self) -> None:
        self._closed.set()

    def here(self, query: LogQuery) -> Json:
        """Return ``lines`` of this worker, the ``position`` to continue after, and True as ``gap`` if some are lost."""
        wanted = _filter(query)
        position = query.after.get(self._worker_id)
        kept = self._ring.newest(query.limit, wanted) if position is None else self._after(position, query, wanted)
        return {
            "lines": [self._json(line) for line in kept.lines],
            "position": f"{self._ring.instance}:{kept.last}",
            "gap": kept.gap,
        }

    def of_cluster(self, query: LogQuery) -> Json:
        """Return lines of all workers that run something, by time; ``missing`` has those that have not answered.

        Raise NotFoundError for no such connector.
        """
        self._herder.connector_info(query.connector)
        others = self._others()
        answers: dict[str, Json | str] = {self._worker_id: self.here(query)}
        if others:
            with ThreadPoolExecutor(_AT_ONCE, "logs-of-workers") as pool:
                answers |= dict(zip(others, pool.map(partial(self._answer, query), others), strict=True))
        given = {worker: answer for worker, answer in answers.items() if not isinstance(answer, str)}
        lines = sorted((line for answer in given.values() for line in answer["lines"]), key=lambda line: line["time"])
        positions = {**query.after, **{worker: answer["position"] for worker, answer in given.items()}}
        return {
            "lines": lines if query.after else lines[-query.limit :],
            "positions": ",".join(f"{worker}={position}" for worker, position in sorted(positions.items())),
            "gaps": sorted(worker for worker, answer in given.items() if answer["gap"]),
            "missing": {worker: answer for worker, answer in sorted(answers.items()) if isinstance(answer, str)},
        }

    def _after(self, position: str, query: LogQuery, wanted: Callable[[LogLine], bool]) -> KeptLines:
        instance, _, number = position.partition(":")
        if instance == self._ring.instance:
            return self._ring.after(int(number), query.limit, wanted)
        return replace(self._ring.after(0, query.limit, wanted), gap=True)  # it was started again

    def _others(self) -> list[str]:
        """Return all other workers that a status names: those that run something, never one that a request names."""
        if self._ask is None:
            return []
        found: set[str] = set()
        for name in self._herder.connectors():
            with suppress(NotFoundError):  # it has no status yet, or is being deleted
                status = self._herder.connector_status(name)
                workers = (status.connector.worker_id, *(task.worker_id for task in status.tasks))
                found |= {worker for worker in workers if worker}
        return sorted(found - {self._worker_id})

    def _answer(self, query: LogQuery, worker: str) -> Json | str:
        assert self._ask is not None
        try:
            return self._ask(worker, query)
        except ConnectError as error:
            return error_text(error)

    def _json(self, line: LogLine) -> Json:
        where = line.context.strip().strip("[]").rpartition("|")[2]
        return {
            "time": line.time,
            "level": line.level,
            "logger": line.logger,
            "worker": self._worker_id,
            "part": where or None,
            "message": line.message,
            "trace": line.trace,
        }


def _filter(query: LogQuery) -> Callable[[LogLine], bool]:
    least = number_of(query.level)
    about = is_about_task(query.connector, query.task) if query.task is not None else is_about(query.connector)

    def wanted(line: LogLine) -> bool:
        return number_of(line.level) >= least and about(line)

    return wanted


def is_about_task(connector: str, task: int) -> Callable[[LogLine], bool]:
    """Return a function that is True for lines with a task's context."""
    context = f"[{connector}|task-{task}] "
    return lambda line: line.context == context


def is_about(connector: str) -> Callable[[LogLine], bool]:
    """Return a function that is True for lines with the context of a connector or one of its tasks.

    It is also for lines without a context, such as the herder's, that name it behind the word connector or task, and
    for audit lines about requests for it.
    """
    own, begin, end = context_of(connector), f"[{connector}|task-", "] "
    audited = audit.quoted_connector(connector)
    name = re.escape(connector)
    named = re.compile(rf"(?i:\bconnectors? )'?{name}(?!\.?[\w-])|(?i:\btasks? )'?{name}-[0-9]+(?!\.?[\w-])")

    def about(line: LogLine) -> bool:
        context = line.context
        if not context:
            asked_for = line.logger == audit.AUDIT and audit.connector_of(line.message) == audited
            return asked_for or named.search(line.message) is not None
        if context == own:
            return True
        return context.startswith(begin) and context.endswith(end) and context[len(begin) : -len(end)].isdigit()

    return about
