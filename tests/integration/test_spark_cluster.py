# SPDX-License-Identifier: Apache-2.0
"""Tasks on a real standalone cluster: a master, two workers, and executors that do not have headrace.

Channels are encrypted, though all of it is on one machine.
"""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once
from tests.support.numbered import create_numbered
from tests.support.polling import wait_for
from tests.support.standalone_cluster import SMALL, StandaloneCluster, python_without_headrace, task_processes
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.slow
CORES = 4


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster"), workers=2, cores=CORES // 2) as running:
        yield running


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_without_headrace(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def there(
    cluster: StandaloneCluster, python: Path, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker whose tasks run on the cluster."""
    properties = {
        "group.id": "on-a-cluster",
        "task.channel.tls": "always",
        "spark.master": cluster.url,
        "spark.archives": f"{python}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        **SMALL,
        "spark.executor.cores": "2",
    }
    with WorkerProcess(tmp_path_factory.mktemp("there"), broker.bootstrap_servers, **properties) as running:
        yield running


def waiting_tasks(worker: WorkerProcess) -> float:
    metrics = worker.rest.get("/metrics").text.splitlines()
    return float(next(line for line in metrics if line.startswith("kafka_connect_worker_tasks_waiting_")).split()[-1])


def test_the_executors_python_has_no_headrace(python: Path, tmp_path: Path) -> None:
    with tarfile.open(python) as archive:
        archive.extractall(tmp_path, filter="fully_trusted")
    for module, found in {"pyarrow": True, "confluent_kafka": True, "headrace": False}.items():
        ended = subprocess.run(
            [tmp_path / "bin" / "python", "-c", f"import {module}"],
            env={},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (ended.returncode == 0) is found, ended.stderr


def test_a_task_of_a_shipped_plugin_runs_on_an_executor(
    there: WorkerProcess, cluster: StandaloneCluster, broker: EmbeddedBroker, unique: str
) -> None:
    create_numbered(there, unique, 500)
    assert_exactly_once(broker.bootstrap_servers, unique, 500, there.properties["offset.storage.topic"], unique)
    there.wait_for_tasks(unique)
    (executor,) = wait_for(lambda: cluster.idle_executors() and cluster.busy_executors(), 20, "the task's executor")
    assert psutil.Process(there.pid) not in executor.parents()
    assert not there.task_processes()
    there.delete(unique)
    wait_for(lambda: not cluster.busy_executors(), 60, "the end of the task's process")


def test_tasks_for_which_there_are_no_cores_say_so_until_they_run(
    there: WorkerProcess, cluster: StandaloneCluster, unique: str
) -> None:
    tasks, name = CORES + 3, f"{unique}-many"
    there.create(
        name, **{"connector.class": "VerifiableSource", "tasks.max": f"{tasks}", "topic": name, "throughput": "5"}
    )
    there_are = f"3 tasks wait for 3 more cores: spark.master={cluster.url} gives this worker 4 cores on 2 executors, "

    def waiting() -> list[str]:
        return [task.get("trace", "") for task in there.status(name).get("tasks", []) if task["state"] == "RESTARTING"]

    wait_for(lambda: [text for text in waiting() if text.startswith(there_are)], 60, lambda: f"{there.status(name)}")
    wait_for(lambda: there.task_states(name).count("RUNNING") == CORES, 30, lambda: f"{there.status(name)}")
    wait_for(lambda: len(waiting()) == waiting_tasks(there) == 3, 30, lambda: f"{there.status(name)}")
    answer = there.rest.patch(f"/connectors/{name}/config", json={"tasks.max": f"{CORES}"})
    assert answer.status_code == 200, answer.text
    there.wait_for_tasks(name, tasks=CORES)
    assert not any(task.get("trace") for task in there.status(name)["tasks"])
    wait_for(lambda: waiting_tasks(there) == 0, 30, "nobody who waits")
    there.delete(name)


def test_tasks_of_a_connector_are_spread_over_the_executors(
    there: WorkerProcess, cluster: StandaloneCluster, unique: str
) -> None:
    """Spark alone would put both on one half of the times."""
    for number in range(4):
        create_numbered(there, f"{unique}-{number}", 10, **{"tasks.max": "2"})
        there.wait_for_tasks(f"{unique}-{number}", tasks=2)
        wait_for(lambda: [len(task_processes(each)) for each in cluster.executors()] == [1, 1], 10, "one task each")
        there.delete(f"{unique}-{number}")
        wait_for(lambda: not cluster.busy_executors(), 60, "the end of the tasks' processes")


def test_a_worker_whose_cluster_is_not_there_answers_and_says_so(own_worker: WorkerProcess, unique: str) -> None:
    own_worker.properties["spark.master"] = "spark://127.0.0.1:1"
    own_worker.start()
    create_numbered(own_worker, unique, 10)
    own_worker.wait_for_tasks(unique, "RESTARTING")
    (task,) = own_worker.status(unique)["tasks"]
    reason = "with spark.master=spark://127.0.0.1:1: nobody answers at 127.0.0.1:1: Connection refused"
    assert task["trace"] == f"Spark is not running: Spark could not be started {reason}"
    assert waiting_tasks(own_worker) == 1
    assert own_worker.rest.delete(f"/connectors/{unique}").status_code == 204


QUERY = {
    "transforms": "q",
    "transforms.q.type": "SparkSql",
    "transforms.q.query": "SELECT linger(value) AS value FROM records",
    "transforms.q.functions": "slow_functions:register",
    "batch": "20",
}


def test_jobs_on_frames_run_on_executors_and_outlive_one(
    there: WorkerProcess, cluster: StandaloneCluster, broker: EmbeddedBroker, unique: str
) -> None:
    """An executor dies under the jobs; perhaps the task's own, which then begins anew behind what it has committed."""
    create_numbered(there, unique, 600, **QUERY)
    wait_for_values(broker.bootstrap_servers, unique, 100)
    wait_for(cluster.busy_executors, 20, "an executor")[0].kill()
    assert_exactly_once(broker.bootstrap_servers, unique, 600, there.properties["offset.storage.topic"], unique)
    there.delete(unique)
    wait_for(lambda: not cluster.busy_executors(), 60, "the end of the task's process")


def test_a_job_on_frames_for_which_there_is_no_core_says_so(there: WorkerProcess, unique: str) -> None:
    create_numbered(there, unique, 50, **QUERY, **{"tasks.max": f"{CORES}"})
    told = "transforms.q could not be run: no core was free for 15 s"

    def traces() -> str:
        return " ".join(task.get("trace", "") for task in there.status(unique).get("tasks", []))

    wait_for(lambda: told in traces() or told in there.log, 60, lambda: f"{there.status(unique)}")
    there.delete(unique)
