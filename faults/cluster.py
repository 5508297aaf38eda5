# SPDX-License-Identifier: Apache-2.0
"""A broker, workers that reach it through a proxy each, and one connector of numbers."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import httpx2
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from faults.proxy import Proxy
from faults.wire import Api
from headrace.broker.broker_files import storage_directory
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

NAME: Final = "numbers"
"""Of the connector and of its topic."""
GROUP: Final = "faults"
CONFIG_TOPIC: Final = "faults-configs"
OFFSETS_TOPIC: Final = "faults-offsets"
STATUS_TOPIC: Final = "faults-status"
"""The internal topics. The worker's clients that read them are named alike."""
SESSION_S: Final = 3.0
TRANSACTION_S: Final = 8.0
_PLUGINS: Final = Path(__file__).parent / "plugins"
_OFFSETS_PARTITIONS: Final = 3
_BROKER: Final = {
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
_WORKER: Final = {
    "group.id": GROUP,
    "plugin.path": str(_PLUGINS),
    "session.timeout.ms": f"{SESSION_S * 1000:.0f}",
    "heartbeat.interval.ms": "1000",
    "rebalance.timeout.ms": "10000",
    "scheduled.rebalance.max.delay.ms": "1000",
    "worker.unsync.backoff.ms": "1000",
    "task.shutdown.graceful.timeout.ms": "2000",
    "producer.transaction.timeout.ms": f"{TRANSACTION_S * 1000:.0f}",
    "producer.request.timeout.ms": "4000",
}
_PATIENCE_S: Final = 5.0


class Cluster:
    """As a context manager it runs from entry to exit and leaves nothing behind. Methods are callable on any thread."""

    def __init__(self, directory: Path, workers: int, partitions: int, path: Sequence[Path] = ()) -> None:
        """`path` comes first of all that workers and their tasks import from."""
        self.partitions = partitions
        self.tap = directory / "tap"
        """As long as this file is there, numbers flow."""
        self._stack = ExitStack()
        self._shifts = itertools.count()
        ports = [free_port() for _ in range(workers)]
        self.proxies = [Proxy(port) for port in ports]
        behind = {port: proxy.port for port, proxy in zip(ports, self.proxies, strict=True)}
        self.broker = EmbeddedBroker(directory / "broker", 0, _BROKER, proxies=behind)
        self.workers = [self._worker(directory / f"worker-{n}", proxy, path) for n, proxy in enumerate(self.proxies)]

    def _worker(self, directory: Path, proxy: Proxy, path: Sequence[Path]) -> WorkerProcess:
        directory.mkdir()
        return WorkerProcess(directory, f"127.0.0.1:{proxy.port}", path=(*path, _PLUGINS), **_WORKER)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for proxy in self.proxies:
                stack.enter_context(proxy)
            stack.enter_context(self.broker)
            admin = self._admin()
            admin.create_topics([NewTopic(NAME, self.partitions, 1)])[NAME].result(30)
            for worker in self.workers:
                stack.callback(worker.close)
            for worker in self.workers:
                worker.launch()
            for worker in self.workers:
                worker.await_answer(90, "/connectors")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    # ---- the connector

    def create(self, tasks: int, boundary: str, pause_ms: int = 20) -> None:
        """Each task waits for ``pause_ms`` between two polls."""
        self.tap.touch()
        self._config = {
            "name": NAME,
            "connector.class": "partitioned_numbers.PartitionedNumbersConnector",
            "topic": NAME,
            "tap": str(self.tap),
            "partitions": str(self.partitions),
            "batch": "20",
            "pause.ms": str(pause_ms),
            "exactly.once.support": "required",
            "transaction.boundary": boundary,
            **({"transaction.boundary.interval.ms": "100"} if boundary == "interval" else {}),
        }
        if not self.reconfigure(tasks, 90):
            raise AssertionError(f"the connector was not made: {self.workers[0].log[-3000:]}")

    def reconfigure(self, tasks: int, seconds: float = 15.0, but: int | None = None) -> bool:
        """Ask all workers, `but` one, to give the connector so many tasks, with other partitions; whether one did."""
        config = {**self._config, "tasks.max": str(tasks), "shift": str(next(self._shifts))}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number, worker in enumerate(self.workers):
                if number != but and _asked(worker, "PUT", f"/connectors/{NAME}/config", config) is not None:
                    return True
            time.sleep(0.2)
        return False

    def delete(self, seconds: float = 15.0, but: int | None = None) -> bool:
        """Ask all workers, `but` one, to delete the connector; whether one did, or it was gone."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number, worker in enumerate(self.workers):
                if number != but and _answer(worker, "DELETE", f"/connectors/{NAME}") in (204, 404):
                    return True
            time.sleep(0.2)
        return False

    def states(self) -> dict[str, list[str]]:
        """For each worker that answers the states of connector and tasks, as it knows them."""
        found = {}
        for number, worker in enumerate(self.workers):
            status = _asked(worker, "GET", f"/connectors/{NAME}/status")
            if status is not None:
                found[f"worker {number}"] = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
        return found

    def running(self) -> bool:
        """Whether all workers are there and say that everything is RUNNING."""
        states = self.states()
        return len(states) == len(self.workers) and all(
            len(known) > 1 and set(known) == {"RUNNING"} for known in states.values()
        )

    def offsets_reported(self) -> dict[int, int] | None:
        """Return the committed source offsets as the REST API reports them."""
        for worker in self.workers:
            answer = _asked(worker, "GET", f"/connectors/{NAME}/offsets")
            if answer is not None:
                return {one["partition"]["partition"]: one["offset"]["seqno"] for one in answer["offsets"]}
        return None

    def leader(self) -> int:
        """Which worker last became the one that writes the config topic."""
        return max(
            range(len(self.proxies)),
            key=lambda number: self.proxies[number].last_request(Api.INIT_PRODUCER_ID, "configs-leader"),
        )

    def owner(self) -> int | None:
        """Return the worker that runs the connector, if it is known."""
        for worker in self.workers:
            status = _asked(worker, "GET", f"/connectors/{NAME}/status")
            if status is not None:
                ports = [str(one.port) for one in self.workers]
                port = status["connector"]["worker_id"].rpartition(":")[2]
                return ports.index(port) if port in ports else None
        return None

    # ---- the topics

    def ends(self, *, stable: bool, offsets_topic: bool = False) -> dict[tuple[str, int], int] | None:
        """Where partitions end: `stable` for read_committed consumers. None if the broker does not answer now."""
        parts = [TopicPartition(NAME, number) for number in range(self.partitions)]
        if offsets_topic:
            parts += [TopicPartition(OFFSETS_TOPIC, number) for number in range(_OFFSETS_PARTITIONS)]
        isolation = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        latest = {part: OffsetSpec.latest() for part in parts}
        # A new client each time: after a crash of the broker an old one may ask with an outdated epoch without limit.
        admin = self._admin()
        try:
            found = admin.list_offsets(latest, isolation_level=isolation, request_timeout=_PATIENCE_S)
            return {(part.topic, part.partition): future.result(_PATIENCE_S).offset for part, future in found.items()}
        except (KafkaException, TimeoutError):
            return None

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})

    def save_logs(self, directory: Path) -> None:
        """Copy what a search for the cause of a failure needs: the workers' logs, and the broker's with its topics."""
        directory.mkdir(parents=True, exist_ok=True)
        for number, worker in enumerate(self.workers):
            (directory / f"worker-{number}.log").write_text(worker.log)
        shutil.copy(self.broker.log_path, directory / "broker.log")
        shutil.copytree(storage_directory(self.broker.data_dir), directory / "topics", dirs_exist_ok=True)
        for topic in (CONFIG_TOPIC, STATUS_TOPIC):
            records = read_committed(self.broker.bootstrap_servers, topic)
            (directory / f"{topic}.txt").write_text(
                "".join(f"{one.timestamp} {one.key!r} {one.value!r}\n" for one in records)
            )


def _answer(worker: WorkerProcess, method: str, path: str) -> int | None:
    """The answer's status; None if there is none."""
    try:
        return httpx2.request(method, f"http://127.0.0.1:{worker.port}{path}", timeout=_PATIENCE_S).status_code
    except httpx2.TransportError:
        return None


def _asked(worker: WorkerProcess, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
    """The answer's JSON; None if there is none, or an error."""
    url = f"http://127.0.0.1:{worker.port}{path}"
    try:
        answer = httpx2.request(method, url, json=body, timeout=_PATIENCE_S)
    except httpx2.TransportError:
        return None
    return answer.json() if answer.status_code in (200, 201) else None
