# SPDX-License-Identifier: Apache-2.0
"""Tasks on a real standalone cluster: a master, two workers, and executors that do not have headrace.

Channels are encrypted, though all of it is on one machine.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.executor_python import python_without_headrace
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.spark_sinks import create_spark_sink, parquet_rows, task_pid, wait_for_rows
from tests.support.standalone_cluster import SMALL, StandaloneCluster, task_processes
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.slow
CORES = 4
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.task.duration.threshold": "500ms",
}
"""It strikes as early as it can; the last one has no effect, else Spark would make copies of tasks' own jobs, too."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    with StandaloneCluster(directory, workers=2, cores=CORES // 2, apart=True) as running:
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
        **SPECULATION,
    }
    with WorkerProcess(tmp_path_factory.mktemp("there"), broker.bootstrap_servers, **properties) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_tasks_are_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Those of a test that failed would hold the cores that the next one needs."""
    yield
    if "there" in request.fixturenames:
        there: WorkerProcess = request.getfixturevalue("there")
        for name in there.rest.get("/connectors").json():
            there.rest.delete(f"/connectors/{name}")
        cluster: StandaloneCluster = request.getfixturevalue("cluster")
        wait_for(lambda: not cluster.busy_executors(), 60, "the end of the tasks' processes")


def waiting_tasks(worker: WorkerProcess) -> float:
    metrics = worker.rest.get("/metrics").text.splitlines()
    return float(next(line for line in metrics if line.startswith("kafka_connect_worker_tasks_waiting_")).split()[-1])


def test_the_executors_python_has_no_headrace(python: Path, tmp_path: Path) -> None:
    with tarfile.open(python) as archive:
        archive.extractall(tmp_path, filter="fully_trusted")
    for module, found in {"pyarrow": True, "confluent_kafka": True, "headrace": False, "platformdirs": False}.items():
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
    wait_for(lambda: waiting_tasks(there) == 0, 30, "no task that waits")
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
    reason = "with spark.master=spark://127.0.0.1:1: no answer at 127.0.0.1:1: Connection refused"
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


def under_fire(directory: Path, faults: str) -> dict[str, str]:
    """A query whose jobs end in four partitions, in the order of the numbers, with a function of a plugin in them."""
    spread = "SELECT /*+ REPARTITION_BY_RANGE(4, n) */ value, CAST(value AS INT) AS n FROM records"
    query = f"SELECT under_fire('{directory}', '{faults}', value) AS value FROM ({spread})"
    return {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": query}


def test_attempts_that_fail_or_die_and_second_copies_count_for_nothing(
    there: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Of partitions of a frame job's result. The task's own job, far slower than they are, has no copy."""
    create_numbered(there, unique, 80, **under_fire(tmp_path, "raise:12,exit:25,slow:78"), batch="40")
    assert_exactly_once(broker.bootstrap_servers, unique, 80, there.properties["offset.storage.topic"], unique)
    attempts = {f"{fault}-{attempt}" for fault in ("raise", "exit", "slow") for attempt in (0, 1)}
    assert {file.name for file in tmp_path.iterdir()} >= attempts | {"slow-and-alive"}
    (task,) = there.rest.get(f"/connectors/{unique}/status?expand=spark").json()["tasks"]
    assert task["spark"]["attempt"] == 0, task
    there.delete(unique)


def test_frame_jobs_run_on_executors_and_survive_their_death(
    there: WorkerProcess, cluster: StandaloneCluster, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """One dies while a result arrives, of which a part has arrived; the task's own with the result before a commit."""
    once = tmp_path / "once"
    once.touch()
    death = {"die.at": "before_commit", "die.how": "wait", "die.once": str(once)}
    create_numbered(there, unique, 120, **under_fire(tmp_path, "hold:39"), **death, batch="20")
    # The last of four partitions is at it, with three cores for them: one was delivered, the others are or will be.
    wait_for((tmp_path / "hold-0").exists, 60, lambda: f"{there.status(unique)}\n{there.log[-3000:]}")
    process = task_pid(there, unique)

    def has_task(executor: psutil.Process) -> bool:
        return any(each.pid == process for each in task_processes(executor))

    next(executor for executor in cluster.executors() if not has_task(executor)).kill()
    (tmp_path / "go-on").touch()
    wait_for(lambda: not once.exists(), 60, lambda: f"a commit: {there.status(unique)}\n{there.log[-3000:]}")
    assert task_pid(there, unique) == process, "the task's own process has seen nothing of it"
    next(filter(has_task, cluster.executors())).kill()
    assert_exactly_once(broker.bootstrap_servers, unique, 120, there.properties["offset.storage.topic"], unique)
    assert task_pid(there, unique) != process
    there.delete(unique)
    wait_for(lambda: not cluster.busy_executors(), 60, "the end of the task's process")


def test_files_are_written_and_read_by_spark_on_executors(
    there: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, count = broker.bootstrap_servers, 200
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b'{"n":%d}' % n for n in range(count)])
    parquet = {"spark.format": "parquet", "path": str(tmp_path)}
    create_spark_sink(there, unique, unique, **parquet, **{"value.schema": "n BIGINT"})
    rows = wait_for_rows(lambda: parquet_rows(tmp_path), count, there, unique)
    assert sorted(row["n"] for row in rows) == list(range(count))
    there.delete(unique)
    table = {"connector.class": "SparkTableSource", "mode": "incrementing", "incrementing.column": "n"}
    files = {"connector.class": "SparkFileSource", "file.settle.ms": "0"}
    for kind, config in {"table": table, "files": files}.items():
        name = f"{unique}-{kind}"
        json_values = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
        there.create(
            name, **{"topic": name, "tasks.max": "1", "poll.interval.ms": "200"}, **parquet, **json_values, **config
        )
        found = [json.loads(value or b"")["n"] for value in wait_for_values(bootstrap, name, count)]
        assert (found if kind == "table" else sorted(found)) == list(range(count))
        there.delete(name)


def test_a_job_on_frames_for_which_there_is_no_core_says_so(there: WorkerProcess, unique: str) -> None:
    create_numbered(there, unique, 50, **QUERY, **{"tasks.max": f"{CORES}"})
    expected = "transforms.q could not be run: no core was free for 15 s"

    def traces() -> str:
        return " ".join(task.get("trace", "") for task in there.status(unique).get("tasks", []))

    wait_for(lambda: expected in traces() or expected in there.log, 60, lambda: f"{there.status(unique)}")
    there.delete(unique)


def test_tasks_for_which_local_mode_has_no_cores_say_so(own_worker: WorkerProcess, unique: str) -> None:
    own_worker.properties["spark.master"] = "local[2]"
    own_worker.start()
    config = {"connector.class": "VerifiableSource", "tasks.max": "3", "topic": unique, "throughput": "5"}
    own_worker.create(unique, **config)
    expected = (
        "1 task waits for 1 more core: spark.master=local[2] gives this worker 2 cores on 1 executor, 2 of them in use"
    )

    def waiting() -> list[str]:
        return [
            task.get("trace", "") for task in own_worker.status(unique).get("tasks", []) if task["state"] != "RUNNING"
        ]

    wait_for(
        lambda: [text[: len(expected)] for text in waiting()] == [expected], 60, lambda: f"{own_worker.status(unique)}"
    )
    assert waiting_tasks(own_worker) == 1
    answer = own_worker.rest.patch(f"/connectors/{unique}/config", json={"tasks.max": "2"})
    assert answer.status_code == 200, answer.text
    own_worker.wait_for_tasks(unique, tasks=2)
    wait_for(lambda: waiting_tasks(own_worker) == 0, 30, "no task that waits")
