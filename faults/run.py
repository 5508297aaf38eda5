# SPDX-License-Identifier: Apache-2.0
"""One run: let numbers flow, do to the cluster what the plan says, let it heal, judge."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from faults.cluster import Cluster
from faults.inject import RESTART_S, Injector, MissedError
from faults.judge import Judgement, judge
from faults.plan import Fault, Kind, Plan
from tests.support.polling import wait_for

_HANGING_S = 30.0
_FAULT_S = RESTART_S + 120.0
_QUIET_LOOKS = 5

Say = Callable[[str], None]
Ends = Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run; all is right when nothing is wrong with the judgement."""

    judgement: Judgement
    seconds: float
    healed: float
    """Seconds from the end of the last fault until everything was RUNNING and all partitions moved."""
    done: Counter[Kind] = field(default_factory=Counter)
    missed: Counter[Kind] = field(default_factory=Counter)

    @property
    def right(self) -> bool:
        return not self.judgement.problems and self.done.total() > 0


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds between two polls of a task, and seconds between two lines of progress."""

    pause_ms: int = 20
    progress_s: float = 5.0


USUAL = Pace()


class Run:
    """Of one plan on one running cluster, whose connector it makes."""

    def __init__(
        self,
        cluster: Cluster,
        tasks: int,
        say: Say,
        patience: float = 90.0,
        pace: Pace = USUAL,
        spared: int | None = None,
    ) -> None:
        """After the last fault it waits for ``patience`` seconds for everything to flow again.

        The worker ``spared`` is not killed, nor is its JVM.
        """
        self._cluster = cluster
        self._tasks = tasks
        self._say = say
        self._patience = patience
        self._pace = pace
        self._injector = Injector(cluster, tasks, spared)
        self._done: Counter[Kind] = Counter()
        self._missed: Counter[Kind] = Counter()
        self._problems: list[str] = []

    def run(self, plan: Plan, records: int, beside: AbstractContextManager[object] | None = None) -> Result:
        """At least ``records`` records flow, if the cluster heals at all. ``beside`` is entered while faults come."""
        self._cluster.create(self._tasks, plan.boundary, self._pace.pause_ms)
        wait_for(self._cluster.running, 120, lambda: f"all tasks RUNNING: {self._cluster.states()}")
        wait_for(lambda: self._moved_all({}), 60, "the first records")
        self._began = time.monotonic()
        with beside or nullcontext():
            self._inject(plan)
        faults_over = time.monotonic()
        healed = self._heal(records)
        self._cluster.tap.unlink()
        self._settle()
        judgement = judge(self._cluster)
        judgement = replace(judgement, problems=(*self._problems, *judgement.problems))
        return Result(judgement, faults_over - self._began, healed, self._done, self._missed)

    def _inject(self, plan: Plan) -> None:
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watch.start()
        try:
            with ThreadPoolExecutor(16) as pool:
                injected = []
                for fault in plan.faults:
                    time.sleep(max(0.0, self._began + fault.at - time.monotonic()))
                    injected.append((fault, pool.submit(self._injector.inject, fault)))
                    injected[-1][1].add_done_callback(lambda future, fault=fault: self._report(fault, future))
                for _, future in injected:
                    future.exception(_FAULT_S)
        finally:
            over.set()
            watch.join()

    def _report(self, fault: Fault, future: Future[str]) -> None:
        error = future.exception()
        if error is None:
            self._done[fault.kind] += 1
            what = future.result()
        elif isinstance(error, MissedError):
            self._missed[fault.kind] += 1
            what = f"missed: {error}"
        else:
            self._problems.append(f"{fault.kind.value}: {error}")
            what = f"FAILED: {error!r}"
        self._say(f"{self._at()}  {fault.kind.value} ({what})")

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(self._pace.progress_s):
            ends = self._cluster.ends(stable=True)
            self._say(f"{self._at()}  {sum(ends.values()):,} offsets" if ends else f"{self._at()}  no broker")

    def _heal(self, records: int) -> float:
        """It gets no help: no task may need a restart by hand."""
        began = time.monotonic()
        self._say(f"{self._at()}  all faults are over")
        before = self._cluster.ends(stable=False) or {}
        try:
            wait_for(
                lambda: self._cluster.running() and self._moved_all(before),
                self._patience,
                lambda: f"everything to flow again without help: {self._cluster.states()}, {self._stuck(before)}",
            )
            healed = time.monotonic() - began
            wait_for(lambda: sum((self._cluster.ends(stable=True) or {}).values()) > 1.3 * records, 300, "more records")
        except AssertionError as error:
            self._problems.append(str(error))
            healed = time.monotonic() - began
        return healed

    def _settle(self) -> None:
        """Within 30 s nothing is open any more, and nothing is written."""
        looks: list[tuple[Ends | None, Ends | None]] = []

        def quiet() -> bool:
            looks.append(tuple(self._cluster.ends(stable=stable, offsets_topic=True) for stable in (True, False)))  # type: ignore[arg-type]
            time.sleep(0.2)
            last = looks[-_QUIET_LOOKS:]
            return len(last) == _QUIET_LOOKS and all(look == last[0] for look in last) and last[0][0] == last[0][1]

        try:
            wait_for(quiet, _HANGING_S, lambda: f"the end of all transactions: (stable ends, ends) {looks[-1]}")
        except AssertionError as error:
            self._problems.append(str(error))

    def _moved_all(self, before: Ends) -> bool:
        now = self._cluster.ends(stable=True)
        return now is not None and all(end > before.get(part, 0) for part, end in now.items())

    def _stuck(self, before: Ends) -> str:
        now = self._cluster.ends(stable=True)
        return f"stuck at {[(part, end) for part, end in (now or {}).items() if end <= before.get(part, 0)]}"

    def _at(self) -> str:
        return f"{time.monotonic() - self._began:6.1f} s"
