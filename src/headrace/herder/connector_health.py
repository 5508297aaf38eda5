# SPDX-License-Identifier: Apache-2.0
"""The health of connectors: each task's by the worker that runs it, the verdicts, and their JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol

from headrace.api.error_text import clean_text
from headrace.api.lag import Lag, LagUnit
from headrace.config.connector_config import STALLED_TIMEOUT
from headrace.herder.errors import NotFoundError
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import Json, PartRequest, WorkerParts
from headrace.model.cluster_config_state import Config
from headrace.model.health import TaskConfigsError, TaskError, TaskFacts
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorStateInfo, TaskState
from headrace.model.state import State
from headrace.model.verdict import Judgement, TaskView, Verdict, connector_verdict, verdict, worst
from headrace.worker.stages import Stages

TaskConfigsErrors = Callable[[], Mapping[str, TaskConfigsError]]
"""Returns what fails with task configurations on this worker, by connector."""


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker's part of the health: of tasks by their numbers, and of connectors, both by connector."""

    tasks: Mapping[str, Mapping[int, Json]]
    errors: Mapping[str, TaskConfigsError]

    def to_json(self) -> Json:
        return {"tasks": self.tasks, "errors": {name: asdict(error) for name, error in self.errors.items()}}


_Answers = Mapping[str, WorkerHealth | str]
"""By worker; a text is the reason why there is no answer."""


class WorkerRequests(Protocol):
    """Requests to any other worker of the group."""

    def worker_health(self, worker_id: str, connector: str | None) -> Json:
        """Return ``WorkerHealth`` as JSON: of a connector and its tasks that it runs, or ran last; of all if None.

        Blocks a short time. Raise ConnectError if the worker cannot be reached, or does not answer.
        """


@dataclass(frozen=True, slots=True)
class HealthServices:
    """The sources of health: this worker's facts, and the other workers, None for a worker that is alone."""

    worker_id: str
    facts: Callable[[str | None], Mapping[ConnectorTaskId, TaskFacts]]
    """Returns the facts of a connector's tasks, of all if None; may block for a moment."""
    default_timeout: int
    """The worker's ``task.stalled.timeout.ms``."""
    others: WorkerRequests | None = None


class ConnectorHealth:
    """Answers about the health of connectors, from any worker. Blocks only threads of its own."""

    def __init__(self, queries: HerderQueries, services: HealthServices, parts: WorkerParts, stages: Stages) -> None:
        self._queries = queries
        self._services = services
        self._parts = parts
        self._stages = stages

    def of(self, names: Iterable[str], errors: TaskConfigsErrors) -> Future[Mapping[str, Json]]:
        """Return the health of connectors; those that are gone, or have no status yet, are left out."""
        wanted = list(names)
        return self._stages.run_in_background("health of connectors", lambda: self._of(wanted, errors))

    def here(self, connector: str | None, errors: TaskConfigsErrors) -> Future[Json]:
        """Return this worker's part as JSON: of one connector, or of all."""
        here = partial(self._here, connector, errors)
        return self._stages.run_in_background("health of this worker's part", lambda: here().to_json())

    def _of(self, names: Iterable[str], errors: TaskConfigsErrors) -> dict[str, Json]:
        statuses = {name: status for name in names if (status := self._status(name)) is not None}
        workers = {status.connector.worker_id for status in statuses.values()}
        workers |= {task.worker_id for status in statuses.values() for task in status.tasks}
        only = next(iter(statuses)) if len(statuses) == 1 else None
        answers = self._ask({worker for worker in workers if worker}, only, errors)
        return {name: self._health(status, answers) for name, status in statuses.items()}

    def _status(self, name: str) -> ConnectorStateInfo | None:
        try:
            return self._queries.connector_status(name)
        except NotFoundError:
            return None

    # ---- the workers

    def _ask(self, workers: Collection[str], connector: str | None, errors: TaskConfigsErrors) -> _Answers:
        """Return each worker's answer, or the reason why there is none; asks all at once."""
        others = self._services.others
        request = PartRequest(
            "health",
            partial(self._here, connector, errors),
            None if others is None else lambda worker: others.worker_health(worker, connector),
            _understood,
        )
        return self._parts.collect(workers, request)

    def _here(self, connector: str | None, errors: TaskConfigsErrors) -> WorkerHealth:
        found: dict[str, dict[int, Json]] = {}
        for id, facts in self._services.facts(connector).items():
            with suppress(NotFoundError):  # it was deleted, or has no status yet
                status = self._queries.task_status(id)
                judged = verdict(TaskView(status.state, status.trace, facts), self._timeout(id.connector))
                health = task_health(status, judged, facts)
                if connector is None:
                    del health["steps"]  # a list of all connectors would be much longer
                found.setdefault(id.connector, {})[id.task] = health
        return WorkerHealth(found, {name: error for name, error in errors().items() if connector in (None, name)})

    def _timeout(self, name: str) -> int:
        return stalled_timeout(self._queries.connector_info(name).config, self._services.default_timeout)

    # ---- the answer

    def _health(self, status: ConnectorStateInfo, answers: _Answers) -> Json:
        tasks = [self._task(status.name, task, answers) for task in _with_unassigned(status, self._queries)]
        connector, answer = status.connector, answers.get(status.connector.worker_id or "")
        error = answer.errors.get(status.name) if isinstance(answer, WorkerHealth) else None
        own = connector_verdict(connector.state, connector.trace, answer if isinstance(answer, str) else error)
        parts = [("Connector", own)]
        parts += [(f"Task {task['id']}", _judgement(task)) for task in tasks]
        return {
            "name": status.name,
            "type": status.type,
            **_shown(_of_whole(connector.state, parts)),
            "connector": {
                "state": connector.state,
                "worker_id": connector.worker_id,
                **_shown(own),
                "task_configs_error": None if error is None else _task_configs_error(error),
            },
            "tasks": tasks,
        }

    def _task(self, connector: str, status: TaskState, answers: _Answers) -> Json:
        answer = answers.get(status.worker_id or "")
        if isinstance(answer, str):
            view = TaskView(status.state, status.trace, None, answer)
        else:
            known = None if answer is None else answer.tasks.get(connector, {}).get(status.id)
            if known is not None:
                return known
            view = TaskView(status.state, status.trace)
        return task_health(status, verdict(view, 0), None)


def task_health(status: TaskState, judged: Judgement, facts: TaskFacts | None) -> Json:
    """Return a task's part of the answer: the one place where it is made. Without ``facts`` they are null."""
    shown = {"id": status.id, "state": status.state, "worker_id": status.worker_id, **_shown(judged)}
    return shown | (dict.fromkeys(_FACTS) if facts is None else _facts(facts))


_FACTS: Final = (
    *("stage", "stage_since", "last_poll", "last_record", "last_commit", "records_per_second", "bytes_per_second"),
    *("last_error", "errors", "next_attempt", "restarts", "lag", "transaction_open", "measured", "steps"),
)


def _facts(facts: TaskFacts) -> Json:
    progress = facts.progress
    return {
        "stage": progress.stage.value,
        "stage_since": progress.stage_since,
        "last_poll": progress.last_poll,
        "last_record": progress.last_record,
        "last_commit": progress.last_commit,
        "records_per_second": facts.records_per_second,
        "bytes_per_second": facts.bytes_per_second,
        "last_error": None if facts.last_error is None else _error(facts.last_error, facts.error_age),
        "errors": dict(facts.errors),
        "next_attempt": facts.next_attempt,
        "restarts": {"count": facts.restarts, "reason": facts.restart_reason},
        "lag": _lag(progress.lag if facts.lag is None else Lag(LagUnit.RECORDS, facts.lag)),
        "transaction_open": progress.transaction_open,
        "measured": facts.measured,
        "steps": [{**asdict(step), "kind": step.kind.value} for step in facts.steps] or None,
    }


def _lag(lag: Lag | None) -> Json | None:
    if lag is None:
        return None
    unit = lag.unit.value
    return {"unit": unit, unit: lag.total, "partitions": dict(lag.partitions)}


def _error(error: TaskError, age: int | None) -> Json:
    return {
        "class": error.error_class,
        "message": error.message,
        "stage": error.stage.value,
        "handling": error.handling.value,
        "record": None if error.position is None else _plain(error.position),
        "age": age,
        "time": datetime.fromtimestamp(error.time_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "hint": error.hint,
    }


def _task_configs_error(error: TaskConfigsError) -> Json:
    fields = asdict(error)
    return {"class": fields.pop("error_class"), **fields}


def _plain(value: Any) -> Any:
    """Return a position as JSON can show it, which has no infinite numbers and no lone surrogates."""
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return clean_text(str(value))


def stalled_timeout(config: Config, default: int) -> int:
    """Return a connector's ``task.stalled.timeout.ms``; the worker's unless it has a valid one."""
    own = (config.get(STALLED_TIMEOUT) or "").strip()
    return int(own) if own.isascii() and own.isdigit() and int(own) > 0 else default


def _with_unassigned(status: ConnectorStateInfo, queries: HerderQueries) -> list[TaskState]:
    """Return the statuses of the connector's tasks, and an UNASSIGNED one for each that has none yet."""
    have = {task.id for task in status.tasks}
    try:
        ids = queries.connector_info(status.name).tasks
    except NotFoundError:
        ids = ()
    missing = [TaskState(id.task, State.UNASSIGNED.value, None) for id in ids if id.task not in have]
    return sorted((*status.tasks, *missing), key=lambda task: task.id)


def _understood(found: Any) -> WorkerHealth:
    """Return another worker's answer. Raise an error unless each task in it has a verdict that this worker knows."""
    parts = found["tasks"].items()
    tasks = {name: {int(id): {**task, **_shown(_judgement(task))} for id, task in part.items()} for name, part in parts}
    return WorkerHealth(tasks, {name: TaskConfigsError(**error) for name, error in found["errors"].items()})


def _shown(judged: Judgement) -> Json:
    return {"verdict": judged.verdict.name.lower(), "why": judged.why}


def _of_whole(state: str, parts: Sequence[tuple[str, Judgement]]) -> Judgement:
    """Return the judgement of a connector with its tasks, of which there may be none."""
    (_, own), *tasks = parts
    if tasks or own.verdict is not Verdict.HEALTHY:
        return worst(parts)
    return Judgement(own.verdict, "It runs, and has no tasks." if state == State.RUNNING.value else own.why)


def _judgement(task: Json) -> Judgement:
    return Judgement(Verdict[task["verdict"].upper()], task["why"])
