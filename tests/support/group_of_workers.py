# SPDX-License-Identifier: Apache-2.0
"""Workers in this process with all of exactly-once but data: REST servers and producers over a real broker, no engine.

Each task (tests/support/idle_tasks.py) inits its transactional producer, asks if it may start, and keeps the producer.
"""

from __future__ import annotations

import gc
import uuid
from typing import Any

import httpx2
from fastapi.dependencies import models

from headrace.config.distributed_config import DistributedConfig
from headrace.config.session_key_config import MacAlgorithm
from headrace.distributed.assembly import distributed_herder
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.model.cluster_config_state import SessionKey
from headrace.plugins.discovery import Plugins, plugins_of
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient
from headrace.rest.server.listeners import BoundListeners
from headrace.rest.server.rest_server import RestServer
from tests.support.idle_tasks import IdleLauncher, IdleTask
from tests.support.polling import wait_for
from tests.support.worker_process import group_properties


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
        self.launcher = IdleLauncher(producing=True)
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
        self.launcher.close_producers()


class Workers:
    """One group; `nodes` are those that run."""

    def __init__(self, bootstrap: str, **props: str) -> None:
        self.bootstrap = bootstrap
        self.group = f"group-{uuid.uuid4().hex[:8]}"
        more = {
            "scheduled.rebalance.max.delay.ms": "0",
            "task.shutdown.graceful.timeout.ms": "1000",
            **{f"{kind}.storage.partitions": "1" for kind in ("offset", "status")},
        }
        self.props = group_properties(bootstrap, self.group, **{**more, **props})
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
        _forget_routes()

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

    def launched(self, name: str) -> list[IdleTask]:
        """All tasks of the connector that ever were, worker by worker."""
        return [task for node in self.nodes for task in node.launcher.launched if task.spec.id.connector == name]


class Cluster:
    """One worker after the other over the same topics, without REST; their tasks only confirm their starts."""

    def __init__(self, bootstrap: str, **props: str) -> None:
        partitions = {f"{kind}.storage.partitions": "2" for kind in ("offset", "status")}
        self.config = DistributedConfig(group_properties(bootstrap, f"test-{uuid.uuid4()}", **partitions, **props))
        self.launcher = IdleLauncher()
        self.herders: list[DistributedHerder] = []

    def start(self, url: str = "http://localhost:8083/") -> DistributedHerder:
        leader = LeaderClient(RestClient(), self.config.signature_algorithm)
        herder = distributed_herder(self.config, plugins_of(self.config.raw), self.launcher, url, leader)
        self.herders.append(herder)
        herder.start()
        return herder

    def stop(self) -> None:
        for herder in self.herders:
            herder.stop(10.0)


def _forget_routes() -> None:
    """Let go of stopped workers, each with dozens of threads: FastAPI remembers the handlers of all applications."""
    for each in vars(models).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    gc.collect()
