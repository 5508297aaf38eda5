# SPDX-License-Identifier: Apache-2.0
"""The parts that each worker has of an answer about the cluster, requested of all at once, within a short time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from headrace.api.error_text import error_line
from headrace.model.deadline import Clock, Deadline
from headrace.worker.stages import Stages

REMOTE_SECONDS: Final = 2.0
"""Seconds that all other workers together have to answer."""

T = TypeVar("T")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PartRequest(Generic[T]):
    """A request for parts: ``here`` returns this worker's, ``there`` another one's; None for a worker that is alone."""

    name: str
    here: Callable[[], T]
    there: Callable[[str], Json] | None
    read: Callable[[Json], T]
    """Reads another worker's answer; AttributeError, KeyError, TypeError or ValueError for one of another form."""


class WorkerParts:
    """Collects the parts of workers. Any thread; those of other workers are waited for on threads of their own."""

    def __init__(self, worker_id: str, stages: Stages, clock: Clock) -> None:
        """``worker_id`` is that of this worker."""
        self._own = worker_id
        self._stages = stages
        self._clock = clock

    def collect(self, workers: Collection[str], request: PartRequest[T]) -> Mapping[str, T | str]:
        """Return each worker's part, or the reason why there is none. Blocks two seconds at most."""
        asked: dict[str, Future[Json]] = {}
        there = request.there
        for worker in workers:
            if worker != self._own and there is not None:
                stage = f"{request.name} of worker {worker}'s part"
                asked[worker] = self._stages.run_in_background(stage, partial(there, worker))
        deadline = Deadline.after(REMOTE_SECONDS, self._clock)
        answers: dict[str, T | str] = {}
        if self._own in workers:
            answers[self._own] = request.here()
        for worker, future in asked.items():
            part = _answer(worker, future, deadline, request)
            answers[worker] = part
        return answers


def _answer(worker: str, future: Future[Json], deadline: Deadline, request: PartRequest[T]) -> T | str:
    try:
        found = future.result(deadline.remaining())
    except TimeoutError:
        return f"its worker, {worker}, has not answered within {REMOTE_SECONDS:g} s"
    except Exception as error:
        return f"its worker, {worker}, has not answered: {error_line(error)}"
    try:
        return request.read(found)
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"its worker, {worker}, has given an answer that is not understood: it may be of another version"
