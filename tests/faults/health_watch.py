# SPDX-License-Identifier: Apache-2.0
"""What a probe of `/health` hears while something is wrong, and what the worker takes meanwhile."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Self

import httpx2
import psutil

from tests.support.worker_process import WorkerProcess

_PERIOD = 1.0
_NUMBERS = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True)
class Answer:
    """One answer; times are seconds since the watch began. Code 0 is no answer at all."""

    asked: float
    took: float
    code: int
    status: str
    message: str


class HealthWatch:
    """Asks once a second, from entry to exit."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker
        self._process = psutil.Process(worker.pid)
        self._log_start = len(worker.log)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._begun = time.monotonic()
        self.answers: list[Answer] = []
        self.threads: list[int] = []
        self.megabytes: list[int] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join(30)

    @property
    def log(self) -> str:
        """The worker's log since the watch began."""
        return self._worker.log[self._log_start :]

    def kinds_of_lines(self) -> Counter[str]:
        """How often each line was logged, whatever numbers it has."""
        lines = (line.partition("] ")[2] for line in self.log.splitlines() if line.startswith("["))
        return Counter(_NUMBERS.sub("#", line) for line in lines)

    def between(self, begin: float, end: float = float("inf")) -> list[Answer]:
        """The answers to what was asked since `begin`, and answered until `end`."""
        return [each for each in self.answers if begin <= each.asked and each.asked + each.took <= end]

    def _watch(self) -> None:
        with httpx2.Client(base_url=self._worker.rest.base_url, timeout=20) as rest:
            while not self._over.wait(_PERIOD):
                self.answers.append(self._ask(rest))
                self.threads.append(self._process.num_threads())
                self.megabytes.append(self._process.memory_info().rss >> 20)

    def _ask(self, rest: httpx2.Client) -> Answer:
        asked = time.monotonic()
        try:
            answer = rest.get("/health")
            code, body = answer.status_code, answer.json()
        except httpx2.HTTPError as error:
            code, body = 0, {"status": "", "message": repr(error)}
        return Answer(asked - self._begun, time.monotonic() - asked, code, body["status"], body["message"])
