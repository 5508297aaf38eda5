# SPDX-License-Identifier: Apache-2.0
"""Two workers of one group over a broker of their own, what is asked of them and what is to be seen of them."""

from __future__ import annotations

import json
import socket
import struct
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import httpx2
from kafka import KafkaAdminClient

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests.faults.rest_model import Written
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed
from tests.support.worker_process import WorkerProcess

GROUP: Final = "state-machine"
CLASS: Final = "journaled_source.JournaledSourceConnector"
_BROKER: Final = {"group.min.session.timeout.ms": "1000"}
_WORKER: Final = {
    "group.id": GROUP,
    "session.timeout.ms": "3000",
    "heartbeat.interval.ms": "1000",
    "rebalance.timeout.ms": "10000",
    "scheduled.rebalance.max.delay.ms": "500",
    "worker.unsync.backoff.ms": "1000",
    "task.shutdown.graceful.timeout.ms": "1000",
}
_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Start:
    """A line of a connector's journal: a task that started."""

    task: int
    label: int
    pid: int
    start: str
    own: tuple[int, ...]
    first: tuple[int, ...]
    """The number at which it begins in each partition of its own."""


@dataclass(frozen=True, slots=True)
class Zombie:
    """A former task's producer, whose request to commit is still on its way."""

    transactional_id: str
    producer_id: int
    epoch: int


class RestCluster:
    """As a context manager it runs from entry to exit and leaves nothing behind."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()
        self.broker = EmbeddedBroker(directory / "broker", 0, _BROKER, QUICK_START_JVM_OPTIONS)
        self.workers: list[WorkerProcess] = []
        self.up: set[int] = set()
        """Numbers of the workers that run."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.broker)
            for number in range(2):
                directory = self.directory / f"worker-{number}"
                directory.mkdir()
                self.workers.append(WorkerProcess(directory, self.bootstrap, **_WORKER))
                stack.callback(self.workers[-1].close)
                self.workers[-1].launch()
            for number in range(2):
                self._await(number)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap_servers

    # ---- the workers

    def kill(self, number: int) -> None:
        """SIGKILL, and the end of what it leaves behind."""
        self.up.discard(number)
        self.workers[number].kill()

    def start(self, number: int) -> None:
        self.workers[number].launch()
        self._await(number)

    def _await(self, number: int) -> None:
        self.workers[number].await_answer(path="/health")
        self.up.add(number)

    def running(self) -> list[WorkerProcess]:
        return [self.workers[number] for number in sorted(self.up)]

    def addresses(self) -> dict[str, int]:
        """The workers that run, by what statuses call them."""
        return {f"127.0.0.1:{self.workers[number].port}": number for number in self.up}

    def ask(self, number: int, request: str, body: Any = None) -> httpx2.Response:
        """Of this worker, if it runs, else of the other one; again while the answer says to come again."""
        method, path = request.split(" ")
        worker = self.workers[number if number in self.up else 1 - number]
        answers: list[httpx2.Response] = []

        def answered() -> bool:
            answers.append(worker.rest.request(method, path, json=body, headers=_JSON))
            return "retry-after" not in answers[-1].headers

        look(answered, 30, lambda: f"{request}: another answer than {_shown(answers[-1])}")
        return answers[-1]

    def logs(self) -> str:
        """The newest lines of all workers' logs."""
        return "\n".join(f"---- worker {n}\n{worker.log[-4000:]}" for n, worker in enumerate(self.workers))

    # ---- the topics

    def records(self, topic: str) -> dict[int, list[Written]]:
        """What a read_committed consumer sees of the output topic."""
        found: dict[int, list[Written]] = defaultdict(list)
        for record in read_committed(self.bootstrap, topic):
            seqno, label, start = (record.value or b"").decode().split()
            found[record.partition].append(Written(int(seqno), int(label), start))
        return dict(found)

    def statuses(self, name: str) -> dict[str, str]:
        """Keys of the status topic that name the connector, with the state in the newest record of each."""
        newest: dict[str, str] = {}
        for record in read_committed(self.bootstrap, f"{GROUP}-status"):
            key = (record.key or b"").decode()
            if key == f"status-connector-{name}" or key.startswith(f"status-task-{name}-") or key.endswith(f"-{name}"):
                newest.pop(key, None)
                if record.value is not None:
                    newest[key] = json.loads(record.value).get("state", "a topic")
        return newest

    def stored_offsets(self, name: str) -> dict[int, int]:
        """The connector's source offsets as the offsets topic holds them."""
        offsets = committed_offsets(self.bootstrap, f"{GROUP}-offsets", name)
        found = {json.loads(source)["partition"]: offset["seqno"] for source, offset in offsets.items() if offset}
        return dict(sorted(found.items()))

    # ---- transactions

    def open_transaction(self, transactional_id: str, topic: str) -> Zombie | None:
        """The producer of a transaction that holds records of the output topic, and no source offsets yet."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            found = admin.describe_transactions([transactional_id])[transactional_id]
        finally:
            admin.close()
        if found.state != "Ongoing" or {part.topic for part in found.topic_partitions} != {topic}:
            return None
        return Zombie(transactional_id, found.producer_id, found.producer_epoch)

    def commit(self, zombie: Zombie) -> int:
        """Send the zombie's request to commit; the broker's error code, 0 if it was accepted."""
        text = zombie.transactional_id.encode()
        body = struct.pack(f">h{len(text)}sqhb", len(text), text, zombie.producer_id, zombie.epoch, 1)
        request = struct.pack(">hhih", _END_TXN, 1, 7, -1) + body
        host, _, port = self.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.makefile("rb").read(4 + 4 + 4 + 2)
        code: int = struct.unpack(">iiih", answer)[3]
        return code


_END_TXN: Final = 26


def read_journal(file: Path) -> list[Start]:
    """The starts of tasks so far, oldest first."""
    lines = file.read_text().splitlines() if file.exists() else []
    starts = [json.loads(line) for line in lines]
    return [Start(**{**one, "own": tuple(one["own"]), "first": tuple(one["first"])}) for one in starts]


def look(condition: Callable[[], object], seconds: float, what: Callable[[], str]) -> None:
    """Wait, and leave the workers most of the time between two looks."""
    wait_for(condition, seconds, what, pause=_LOOK_S)


def _shown(answer: httpx2.Response) -> str:
    return f"{answer.status_code} {answer.text}"
