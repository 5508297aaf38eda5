# SPDX-License-Identifier: Apache-2.0
"""Does to a cluster what a plan says."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import psutil

from faults.cluster import CONFIG_TOPIC, GROUP, NAME, OFFSETS_TOPIC, SESSION_S, Cluster
from faults.plan import Fault, Kind
from faults.proxy import Direction, How, Trap
from faults.wire import Api
from headrace.api.errors import ConnectError
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.admin_client import AdminClient
from tests.support.polling import wait_for, within
from tests.support.worker_process import WorkerProcess

_TRAP_S = 6.0
_LONGEST_S = 8.0
_CREATION_S = 60.0
_GOING_ON_S = 5.0
_ATTEMPT_S = 90.0
RESTART_S: Final = 600.0
"""The time in which a broker has to be there again, however many attempts it takes."""
_DROPPED = (Api.END_TXN, Api.PRODUCE, Api.END_TXN, Api.ADD_PARTITIONS_TO_TXN, Api.INIT_PRODUCER_ID)


class MissedError(Exception):
    """There was nothing to do the fault to."""


class Injector:
    """Faults may overlap, each on a thread of its own; but one worker, and the broker, suffer one at a time."""

    def __init__(self, cluster: Cluster, tasks: int, spared: int | None = None) -> None:
        """The worker ``spared`` is not killed, nor is its JVM."""
        self._cluster = cluster
        self._tasks = tasks
        self._now = tasks
        self._spared = spared
        self._busy = [threading.Lock() for _ in cluster.workers]
        self._broker_busy = threading.Lock()
        self._ways: Mapping[Kind, Callable[[Fault], str]] = {
            Kind.KILL_WORKER: lambda fault: self._kill_worker(fault, fault.target),
            Kind.KILL_LEADER: self._kill_leader,
            Kind.KILL_TASK: self._kill_task,
            Kind.KILL_EXECUTOR: self._kill_executor,
            Kind.STOP_WORKER: lambda fault: self._stop_worker(fault, tree=False),
            Kind.STOP_TREE: lambda fault: self._stop_worker(fault, tree=True),
            Kind.STOP_TASK: self._stop_task,
            Kind.STALE_OFFSETS: self._stale_offsets,
            Kind.LATE_CONFIGS: self._late_configs,
            Kind.OVERTAKE: self._overtake,
            Kind.BOUNCE_BROKER: lambda fault: self._restart_broker(fault, cluster.broker.stop),
            Kind.CRASH_BROKER: lambda fault: self._restart_broker(fault, cluster.broker.kill),
            Kind.LATE_COMMIT: self._late_commit,
            Kind.HOLD_ANSWER: self._hold_answer,
            Kind.DROP_ANSWER: self._drop_answer,
            Kind.RESET: self._reset,
            Kind.CUT: self._cut,
            Kind.FENCE: self._fence,
            Kind.RECONFIGURE: self._reconfigure,
            Kind.RECREATE: self._recreate,
        }

    def inject(self, fault: Fault) -> str:
        """Blocks until the fault is over and what it ended is started again; what it hit.

        Raises:
            MissedError: nothing happened.
        """
        return self._ways[fault.kind](fault)

    # ---- processes

    def _kill_worker(self, fault: Fault, target: int) -> str:
        with self._one_worker(target, but=self._spared) as number:
            worker = self._cluster.workers[number]
            worker.kill()
            time.sleep(0.5 + 4 * fault.length)
            # Its port is its own again only when all that it started is gone.
            wait_for(lambda: not worker.leftovers(), 30, lambda: f"the end of {worker.leftovers()}")
            worker.start(90, "/connectors")
            return f"worker {number}"

    def _kill_leader(self, fault: Fault) -> str:
        leader = self._cluster.leader()
        if leader == self._spared:
            raise MissedError(f"worker {leader} leads, and is spared")
        return self._kill_worker(fault, leader)

    def _kill_executor(self, fault: Fault) -> str:
        with self._one_worker(fault.target, but=self._spared) as number:
            jvm = next((one for one in self._cluster.workers[number].descendants() if _named(one, "java")), None)
            if jvm is None:
                raise MissedError(f"worker {number} has no JVM")
            _signal(jvm, signal.SIGKILL)
            return f"worker {number}"

    def _kill_task(self, fault: Fault) -> str:
        with self._one_worker(fault.target) as number:
            _signal(self._task_process(number, fault), signal.SIGKILL)
            return f"worker {number}"

    def _stop_task(self, fault: Fault) -> str:
        with self._one_worker(fault.target) as number:
            process, seconds = self._task_process(number, fault), 1 + 11 * fault.length
            with _stopped([process]):
                time.sleep(seconds)
            return f"worker {number}, {seconds:.1f} s"

    def _stop_worker(self, fault: Fault, *, tree: bool) -> str:
        with self._one_worker(fault.target) as number:
            worker, seconds = self._cluster.workers[number], SESSION_S + 1 + 4 * fault.length
            root = psutil.Process(worker.pid)
            with _stopped([root, *(worker.descendants() if tree else ())]):
                time.sleep(seconds)
            return f"worker {number}, {seconds:.1f} s"

    def _stale_offsets(self, fault: Fault) -> str:
        """What the worker's own reader of the offsets topic fetches is held, until well after the task's new start."""
        with self._one_worker(fault.target) as number:
            process = self._task_process(number, fault)
            trap = self._hold_fetches(number, OFFSETS_TOPIC, 4.0)
            time.sleep(0.5)
            _signal(process, signal.SIGKILL)
            trap.over.wait(_LONGEST_S)
            return f"worker {number}"

    def _late_configs(self, fault: Fault) -> str:
        """Others' tasks fence the worker's, whose new attempts begin while it has not read what the others have."""
        # The leader and the connector's own worker have to hear of them, or there are none.
        hearing = {self._cluster.leader(), self._cluster.owner()}
        deaf = [number for number in range(len(self._cluster.workers)) if number not in hearing]
        if not deaf:
            raise MissedError("no worker is without duties")
        with self._one_worker(deaf[fault.target % len(deaf)]) as number:
            seconds = _LONGEST_S * (1 + fault.length)
            trap = self._hold_fetches(number, CONFIG_TOPIC, seconds)
            self._change_tasks(self._now, but=number)
            trap.over.wait(seconds + _LONGEST_S)
            return f"worker {number}"

    def _hold_fetches(self, worker: int, client: str, seconds: float) -> Trap:
        proxy, trap = self._cluster.proxies[worker], Trap(Api.FETCH, client, How.HOLD_ANSWER, seconds)
        proxy.set(trap)
        if not trap.caught.wait(_TRAP_S):
            proxy.unset(trap)
            raise MissedError(f"{client} of worker {worker} fetches nothing")
        return trap

    def _overtake(self, fault: Fault) -> str:
        """A task's process stops before it has fenced anyone; then its worker stops, too, and others get new tasks.

        The process wakes first, and asks its worker whether it may continue; the worker wakes with old knowledge.
        """
        if len(self._cluster.workers) < 2:
            raise MissedError("there is only one worker")
        with self._one_worker(fault.target) as number:
            worker = self._cluster.workers[number]
            process = self._process_stopped_at_start(worker, fault)
            with _stopped([psutil.Process(worker.pid)]):
                time.sleep(SESSION_S + 1)
                self._change_tasks(self._now)
                before = self._cluster.ends(stable=True)
                with suppress(AssertionError):
                    wait_for(lambda: self._moves(before), 15, "others to continue")
                _signal(process, signal.SIGCONT)
                time.sleep(0.5)
            return f"worker {number}"

    def _process_stopped_at_start(self, worker: WorkerProcess, fault: Fault) -> psutil.Process:
        worker.die_once.touch()
        try:
            self._change_tasks(self._tasks if self._now != self._tasks else self._tasks - 1)
            wait_for(lambda: not worker.die_once.exists(), 15, "a task's start")
            return wait_for(lambda: next(iter(_stopped_ones(worker)), None), 5, "its stop")
        except AssertionError as error:
            raise MissedError(str(error)) from None
        finally:
            worker.die_once.unlink(missing_ok=True)

    def _moves(self, before: Mapping[tuple[str, int], int] | None) -> bool:
        now = self._cluster.ends(stable=True)
        return bool(before and now and all(now[part] > before[part] for part in before))

    def _task_process(self, worker: int, fault: Fault) -> psutil.Process:
        found = self._cluster.workers[worker].task_processes()
        if not found:
            raise MissedError(f"worker {worker} has no task's process")
        return found[fault.choice % len(found)]

    # ---- the broker, and the way to it

    def _restart_broker(self, fault: Fault, end: Callable[[], None]) -> str:
        with _free(self._broker_busy, "the broker"):
            end()
            time.sleep(3 * fault.length)
            failures = start_again(self._cluster.broker)
            return f"down for {3 * fault.length:.1f} s" + "".join(f", not started: {why}" for why in failures)

    def _late_commit(self, fault: Fault) -> str:
        return self._trap(fault, Api.END_TXN, How.DELAY_REQUEST, _LONGEST_S, Api.PRODUCE)

    def _hold_answer(self, fault: Fault) -> str:
        api = _DROPPED[fault.choice % len(_DROPPED)]
        return self._trap(
            fault, api, How.HOLD_ANSWER, 1 + 5 * fault.length, Api.PRODUCE if api is Api.END_TXN else None
        )

    def _drop_answer(self, fault: Fault) -> str:
        return self._trap(fault, _DROPPED[fault.choice % len(_DROPPED)], How.DROP_ANSWER, 0.0, None)

    def _trap(self, fault: Fault, api: Api, how: How, seconds: float, until: Api | None) -> str:
        starting = api is Api.INIT_PRODUCER_ID
        client = f"connector-producer-{NAME}-" + ("" if starting else str(fault.target % self._now))
        traps = [Trap(api, client, how, seconds, until) for _ in self._cluster.proxies]
        for proxy, trap in zip(self._cluster.proxies, traps, strict=True):
            proxy.set(trap)
        try:
            if starting:
                self._kill_task(fault)
            wait_for(lambda: any(trap.caught.is_set() for trap in traps), _TRAP_S, "it")
        except AssertionError:
            raise MissedError(f"{client} asked for no {api.name}") from None
        finally:
            for proxy, trap in zip(self._cluster.proxies, traps, strict=True):
                proxy.unset(trap)
        for trap in traps:
            if trap.caught.is_set():
                trap.over.wait(seconds + _LONGEST_S)
        return f"{api.name} of {client}"

    def _reset(self, fault: Fault) -> str:
        number = fault.target % len(self._cluster.proxies)
        self._cluster.proxies[number].reset()
        return f"worker {number}"

    def _cut(self, fault: Fault) -> str:
        with self._one_worker(fault.target) as number:
            direction, seconds = list(Direction)[fault.choice % 2], 1 + 9 * fault.length
            self._cluster.proxies[number].cut(direction)
            try:
                time.sleep(seconds)
            finally:
                self._cluster.proxies[number].heal()
            return f"worker {number}, {direction.value}, {seconds:.1f} s"

    # ---- the connector

    def _fence(self, fault: Fault) -> str:
        """Each init may meet any step of a transaction, a commit that is just being ended too."""
        task, times = fault.target % self._now, 1 + fault.choice % 6
        admin = AdminClient({"bootstrap.servers": self._cluster.broker.bootstrap_servers})
        try:
            for _ in range(times):
                admin.fence_producers([f"{GROUP}-{NAME}-{task}"], _TRAP_S).all()
                time.sleep(0.3 * fault.length)
        except ConnectError as error:
            raise MissedError(str(error)) from None
        return f"task {task}, {times} times"

    def _reconfigure(self, fault: Fault) -> str:
        others = [tasks for tasks in range(1, self._tasks + 1) if tasks != self._now]
        return self._change_tasks(others[fault.choice % len(others)])

    def _recreate(self, fault: Fault) -> str:
        """A worker alone, one with its tasks, or one task's process wakes when the new tasks are at work.

        Not the leader: it would have to be replaced first, and with it all of its tasks, which fences them.
        """
        leader = self._cluster.leader()
        others = [number for number in range(len(self._cluster.workers)) if number != leader]
        if not others:
            raise MissedError("there is only one worker")
        with self._one_worker(others[fault.target % len(others)]) as number:
            if number == leader:
                raise MissedError("all others are in some trouble already")
            worker, before = self._cluster.workers[number], self._now
            what = ("alone", "with its tasks", "one process")[fault.choice % 3]
            root = psutil.Process(worker.pid)
            frozen = [self._task_process(number, fault)] if what == "one process" else [root]
            with _stopped([*frozen, *(worker.descendants() if what == "with its tasks" else ())]):
                self._create_again(1 + fault.choice // 3 % max(1, before - 1), but=number)
            return f"worker {number} {what}, {before} → {self._now} tasks"

    def _create_again(self, tasks: int, but: int) -> None:
        """Delete the connector and create it with so many tasks, and wait until they are at work."""
        if not self._cluster.delete(but=but):
            raise MissedError("no worker deletes the connector")
        self._now = tasks
        if not self._cluster.reconfigure(tasks, _CREATION_S, but=but):
            raise AssertionError("no worker creates the connector")
        ends = self._cluster.ends(stable=True)
        with suppress(AssertionError):
            wait_for(lambda: self._moves(ends), _GOING_ON_S, "the new tasks to continue")

    def _change_tasks(self, tasks: int, but: int | None = None) -> str:
        if not self._cluster.reconfigure(tasks, but=but):
            raise MissedError("no worker takes a configuration")
        former, self._now = self._now, tasks
        return f"{former} → {tasks} tasks"

    # ---- taking turns

    @contextmanager
    def _one_worker(self, target: int, but: int | None = None) -> Iterator[int]:
        """The target, or the next one to which nothing else is done now."""
        numbers = range(len(self._busy))
        for number in (*numbers[target % len(numbers) :], *numbers[: target % len(numbers)]):
            if number != but and self._busy[number].acquire(blocking=False):
                try:
                    yield number
                finally:
                    self._busy[number].release()
                return
        raise MissedError("all workers are in some trouble already")


def start_again(broker: EmbeddedBroker, seconds: float = RESTART_S, attempt_s: float = _ATTEMPT_S) -> list[str]:
    """Start a broker that has run, again and again until it is there; return why it was not, once for each failure.

    Raises:
        AssertionError: it was not there after so many seconds; with the last reason.
    """
    failures: list[str] = []

    def is_there() -> bool:
        try:
            broker.start(attempt_s)
        except ConnectError as error:
            failures.append(str(error))
            return False
        return True

    within(seconds, is_there, lambda: f"the broker again, after {len(failures)} attempts: {failures[-1]}")
    return failures


@contextmanager
def _free(lock: threading.Lock, what: str) -> Iterator[None]:
    if not lock.acquire(blocking=False):
        raise MissedError(f"{what} is in some trouble already")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _stopped(processes: Sequence[psutil.Process]) -> Iterator[None]:
    for process in processes:
        _signal(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            _signal(process, signal.SIGCONT)


def _stopped_ones(worker: WorkerProcess) -> list[psutil.Process]:
    found = []
    for process in worker.task_processes():
        with suppress(psutil.Error):
            if process.status() == psutil.STATUS_STOPPED:
                found.append(process)
    return found


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _named(process: psutil.Process, name: str) -> bool:
    with suppress(psutil.Error):
        return name in process.name()
    return False
