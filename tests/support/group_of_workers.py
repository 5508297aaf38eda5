# SPDX-License-Identifier: Apache-2.0
"""Workers of one group in this process: real herders, REST servers and producers over a real broker, and no engine.

Each task is a thread that inits its transactional producer, asks whether it may start, and then keeps the producer, so
that a test can ask later whether it was fenced.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.config.distributed_config import DistributedConfig
from headrace.config.mac_algorithms import MacAlgorithm
from headrace.distributed.assembly import distributed_herder
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.errors import ProducerFencedError
from headrace.model.cluster_config_state import SessionKey
from headrace.model.state import TargetState
from headrace.plugins.discovery import Plugins
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient
from headrace.rest.server.listeners import BoundListeners
from headrace.rest.server.rest_server import RestServer
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskListener
from tests.support.forgotten_routes import forget_routes
from tests.support.polling import wait_for


class ProducingTask:
    """A ``TaskHandle``; `blocked` keeps it from stopping before it is killed."""

    def __init__(self, spec: TaskSpec, listener: TaskListener, blocked: bool) -> None:
        self.spec = spec
        self.outcome = ""
        self.producer: TransactionalProducer | None = None
        self.killed = False
        self.told_topics: set[str] = set()
        self._listener = listener
        self._blocked = blocked
        self._gone = threading.Event()
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        id = self.spec.id
        try:
            if self.spec.exactly_once:
                self.producer = TransactionalProducer(self.spec.producer)
                self.producer.init_transactions(30)
            if self._listener.confirm_start(id, 0):
                running = self.spec.target_state is TargetState.STARTED
                (self._listener.running if running else self._listener.paused)(id)
                self.outcome = "started"
            else:
                self.outcome = "abandoned"
        except ConnectError as error:
            self.outcome = f"failed: {error}"
            self._listener.failed(id, str(error))

    def is_fenced(self, topic: str) -> bool:
        """Whether its producer can write no more; it is of no use afterwards."""
        assert self.producer is not None
        try:
            self.producer.begin()
            self.producer.records.send(topic, None, b"never visible")
            self.producer.commit(20)
        except ProducerFencedError:
            return True
        finally:
            self.producer.close()
        return False

    def may_start(self) -> bool:
        """What its worker answers to the question for GO."""
        return self._listener.confirm_start(self.spec.id, 0)

    def use(self, *topics: str) -> None:
        """Tell of topics as a process does: of each once, until they are to be forgotten."""
        new = [topic for topic in topics if topic not in self.told_topics]
        self.told_topics.update(new)
        self._listener.topics_used(self.spec.id, new)

    def forget_topics(self) -> None:
        self.told_topics = set()

    def pause(self) -> None:
        self._listener.paused(self.spec.id)

    def resume(self) -> None:
        self._listener.running(self.spec.id)

    def stop(self) -> None:
        if not self._blocked:
            self._end()

    def kill(self) -> None:
        self.killed = True
        self._end()

    def _end(self) -> None:
        if not self._gone.is_set():
            self._gone.set()
            threading.Thread(target=self._listener.stopped, args=(self.spec.id,), daemon=True).start()

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(timeout)


class ProducingLauncher:
    """A ``TaskLauncher``; `blocked` is for tasks that are launched from then on."""

    def __init__(self) -> None:
        self.launched: list[ProducingTask] = []
        self.blocked = False

    def start(self) -> None: ...

    def analyse(self, job: FrameJob) -> ConfigError | None:
        return None

    def run_job(self, job: FrameJob) -> None:
        raise RetriableError("no Spark here")

    def launch(self, spec: TaskSpec, listener: TaskListener) -> ProducingTask:
        task = ProducingTask(spec, listener, self.blocked)
        self.launched.append(task)
        return task

    def stop(self, timeout: float) -> None: ...


class NotingLeaderClient(LeaderClient):
    """Remembers the connectors for which a round of fencing was asked, and asks."""

    def __init__(self, client: RestClient, algorithm: MacAlgorithm) -> None:
        super().__init__(client, algorithm)
        self.rounds: list[str] = []

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        self.rounds.append(connector)
        super().fence_zombies(leader_url, connector, key)


class Node:
    """One worker, with a REST API that its colleagues reach."""

    def __init__(self, config: DistributedConfig) -> None:
        self.launcher = ProducingLauncher()
        listeners = BoundListeners.bind(["http://127.0.0.1:0"])
        self.url = listeners.local_url
        client = RestClient()
        self.asked = NotingLeaderClient(client, config.signature_algorithm)
        self.herder = distributed_herder(config, Plugins(), self.launcher, self.url + "/", self.asked)
        others = OtherWorkers(self.herder, client, SignatureVerifier(config.verification_algorithms))
        self._server = RestServer(create_app(self.herder, others=others), listeners)
        self.http = httpx2.Client(base_url=self.url, timeout=60)

    @property
    def address(self) -> str:
        return self.url.removeprefix("http://")

    @property
    def leads(self) -> bool:
        return self.herder.state.is_leader and self.herder.state.leadership.privileges.value == "held"

    def start(self) -> None:
        self._server.start()
        self.herder.start()

    def stop(self) -> None:
        self.herder.stop(10.0)
        self._server.stop()
        self.http.close()
        for task in self.launcher.launched:
            if task.producer is not None:
                with suppress(ConnectError):
                    task.producer.close()


class Workers:
    """One group; `nodes` are those that run."""

    def __init__(self, bootstrap: str, **props: str) -> None:
        self.bootstrap = bootstrap
        self.group = f"group-{uuid.uuid4().hex[:8]}"
        self.props = {
            "bootstrap.servers": bootstrap,
            "group.id": self.group,
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            "scheduled.rebalance.max.delay.ms": "0",
            "task.shutdown.graceful.timeout.ms": "1000",
            **{f"{kind}.storage.topic": f"{self.group}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            **props,
        }
        self.nodes: list[Node] = []

    def start(self, support: str = "enabled", **props: str) -> Node:
        """One more worker; it has joined."""
        node = Node(DistributedConfig({**self.props, "exactly.once.source.support": support, **props}))
        self.nodes.append(node)
        node.start()
        wait_for(
            lambda: node.herder.state.membership is not None and (node.leads or not node.herder.state.is_leader),
            30,
            lambda: f"its membership: {node.herder.stage()}",
        )
        return node

    def stop(self, node: Node) -> None:
        self.nodes.remove(node)
        node.stop()

    def close(self) -> None:
        while self.nodes:
            self.stop(self.nodes[-1])
        forget_routes()

    @property
    def leader(self) -> Node:
        return wait_for(lambda: next((node for node in self.nodes if node.leads), None), 30, "a leader")

    def put(self, name: str, tasks: int, **more: str) -> None:
        """Make or change a connector."""
        config = {"connector.class": "VerifiableSource", "tasks.max": f"{tasks}", "topic": name, **more}
        answer = self.leader.http.put(f"/connectors/{name}/config", json={"name": name, **config})
        assert answer.status_code in (200, 201), answer.text

    def tasks(self, name: str) -> list[dict[str, Any]]:
        answer = self.leader.http.get(f"/connectors/{name}/status")
        return answer.json()["tasks"] if answer.status_code == 200 else []

    def wait_for_tasks(self, name: str, count: int, state: str = "RUNNING") -> list[dict[str, Any]]:
        """Their statuses, once all are in the state and on workers that run."""

        def settled() -> list[dict[str, Any]] | None:
            seen = self.tasks(name)
            here = {node.address for node in self.nodes}
            fit = all(task["state"] == state and task["worker_id"] in here for task in seen)
            return seen if fit and len(seen) == count and self._in_step(name, count) else None

        return wait_for(settled, 40, lambda: f"{count} tasks of {name} {state}: {self.tasks(name)}")

    def _in_step(self, name: str, count: int) -> bool:
        """Whether all workers know of as many tasks, so that no old status is taken for a new one."""
        states = [node.herder.state for node in self.nodes]
        runs = [run for state in states for id, run in state.tasks.items() if id.connector == name]
        newest = max(state.config.task_config_offsets.get(name, -1) for state in states)
        return len(runs) == count and all(run.generation == newest and not run.stopping for run in runs)

    def launched(self, name: str) -> list[ProducingTask]:
        """All tasks of the connector that ever were, worker by worker."""
        return [task for node in self.nodes for task in node.launcher.launched if task.spec.id.connector == name]

    def until(self, what: str, condition: Callable[[], Any], seconds: float = 30) -> Any:
        return wait_for(condition, seconds, what)
