# SPDX-License-Identifier: Apache-2.0
"""What those who run workers look at and change: levels of loggers, health, metrics, log lines."""

from __future__ import annotations

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.distributed.assembly import distributed_herder
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.logs.loggers import Loggers
from headrace.model.cluster_config_state import SessionKey
from headrace.plugins.discovery import Plugins
from tests.support.group_of_workers import Cluster
from tests.support.idle_tasks import IdleLauncher
from tests.support.polling import wait_for
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess


class HeardLevels(Loggers):
    """Remembers what is set for the whole cluster, in place of setting it: all workers here share one process."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []

    def follow(self, namespace: str, level: str) -> None:
        self.heard.append((namespace, level))


class Group:
    """Two workers without an engine; what they ask of each other goes without HTTP."""

    def __init__(self, cluster: Cluster) -> None:
        self.levels = [HeardLevels(), HeardLevels()]
        self.herders: list[DistributedHerder] = []
        for number, levels in enumerate(self.levels):
            url = f"http://worker{number}:8083/"
            herder = distributed_herder(cluster.config, Plugins(), IdleLauncher(), url, self, loggers=levels)  # type: ignore[arg-type]
            self.herders.append(herder)
            cluster.herders.append(herder)
            herder.start()

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        assert key is not None
        self.herders[int(leader_url.removeprefix("http://worker")[0])].write_logger_level(logger, level).result(20)

    def settled(self) -> bool:
        memberships = [herder.state.membership for herder in self.herders]
        keys = [herder.session_key() for herder in self.herders]
        return None not in (*memberships, *keys) and len({each.generation for each in memberships if each}) == 1


def test_every_worker_applies_a_level_for_the_cluster(cluster: Cluster, broker: EmbeddedBroker) -> None:
    group = Group(cluster)
    assert not group.herders[0].has_started()
    wait_for(group.settled, 40, "a group of two")
    assert all(herder.has_started() for herder in group.herders)
    for herder in group.herders:
        herder.health_check().result(5)
    for number, herder in enumerate(group.herders):
        herder.put_logger_level(f"a.b{number}", "DEBUG").result(20)
    both = [("a.b0", "DEBUG"), ("a.b1", "DEBUG")]
    wait_for(lambda: [levels.heard for levels in group.levels] == [both, both], 10, lambda: f"{group.levels}")
    written = {
        record.key: record.value
        for record in read_committed(broker.bootstrap_servers, cluster.config.config_topic.name)
    }
    assert written[b"logger-cluster-a.b0"] == b'{"level":"DEBUG"}'
    figures = [herder.figures().group for herder in group.herders]
    assert len({(each.leader_name, each.epoch, each.protocol) for each in figures if each}) == 1
    assert all(each and each.completed_rebalances and each.rebalance_max_ms is not None for each in figures)


@pytest.fixture
def worker(worker: WorkerProcess) -> WorkerProcess:
    worker.await_answer(path="/health")
    return worker


def test_a_healthy_worker(worker: WorkerProcess) -> None:
    answer = worker.rest.get("/health")
    ready = "Worker has completed startup and is ready to handle requests."
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy", "message": ready})


def put_level(rest: httpx2.Client, logger: str, level: str, scope: str = "worker") -> httpx2.Response:
    return rest.put(f"/admin/loggers/{logger}?scope={scope}", json={"level": level})


def sample(rest: httpx2.Client, name: str, connector: str) -> float | None:
    families = text_string_to_metric_families(rest.get("/metrics").text)
    found = (each for family in families for each in family.samples)
    return next((each.value for each in found if each.name == name and each.labels.get("connector") == connector), None)


def count(rest: httpx2.Client, connector: str) -> float:
    return sample(rest, "kafka_connect_source_task_source_record_poll_total", connector) or 0


def test_log_levels_and_metrics_of_a_running_task(worker: WorkerProcess, unique: str) -> None:
    config = {"connector.class": "talking_source:TalkingSourceConnector", "tasks.max": "1", "topic": unique}
    worker.create(unique, **config)
    worker.wait_for_tasks(unique)
    wait_for(lambda: count(worker.rest, unique) >= 10, 30, "figures of the task")
    line = f"DEBUG [{unique}|task-0] poll"
    assert line not in worker.log
    answer = put_level(worker.rest, "talking_source", "DEBUG", "cluster")
    assert (answer.status_code, answer.content) == (204, b"")
    wait_for(lambda: line in worker.log, 20, "what the task's process logs")
    assert worker.rest.get("/admin/loggers/talking_source").json()["level"] == "DEBUG"
    assert put_level(worker.rest, "talking_source", "OFF").json() == ["talking_source"]
    wait_for(lambda: said_nothing_for_a_while(worker, line, unique), 20, "silence")
    put_level(worker.rest, "talking_source", "DEBUG")
    worker.rest.post(f"/connectors/{unique}/restart").raise_for_status()
    wait_for(lambda: f"DEBUG [{unique}|worker] the connector st" in worker.log, 20, "what the connector logs")

    for name in ("connector_task_offset_commit_avg_time_ms", "connector_task_batch_size_max", "task_error_nothing"):
        assert (sample(worker.rest, f"kafka_connect_{name}", unique) is None) is (name == "task_error_nothing")
    for kind in ("min", "avg", "max"):
        assert sample(worker.rest, f"kafka_connect_source_task_transaction_size_{kind}", unique) == 1
    assert 0 < (sample(worker.rest, "kafka_connect_connector_task_running_ratio", unique) or 0) <= 1
    assert sample(worker.rest, "kafka_connect_connector_task_task_restarts_total", unique) == 0
    assert sample(worker.rest, "kafka_connect_worker_connector_running_task_count", unique) == 1
    put_level(worker.rest, "talking_source", "INFO")
    worker.delete(unique)
    wait_for(lambda: sample(worker.rest, "kafka_connect_connector_status", unique) is None, 20, "its end")


def said_nothing_for_a_while(worker: WorkerProcess, line: str, connector: str) -> bool:
    """Ten polls, and not one of them in the log."""
    said, polled = worker.log.count(line), count(worker.rest, connector)
    wait_for(lambda: count(worker.rest, connector) >= polled + 10, 20, "ten polls")
    return worker.log.count(line) == said
