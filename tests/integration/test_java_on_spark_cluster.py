# SPDX-License-Identifier: Apache-2.0
"""A Java task on a real standalone cluster, whose executors have no jars of Kafka Connect and cannot download them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.jvm.ivy import IVY_SETTINGS
from headrace.jvm.java_runtime import find_java
from tests.integration.executor_python import python_without_headrace
from tests.java.java_connectors import FILE_SOURCE, kafkas
from tests.support.polling import wait_for
from tests.support.standalone_cluster import SMALL, StandaloneCluster, task_processes
from tests.support.topics import committed_offsets, wait_for_values
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.slow
_NO_REPOSITORY = """<ivysettings><settings defaultResolver="none"/><resolvers>
<ibiblio name="none" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    directory = tmp_path / "cluster"
    directory.mkdir()
    with StandaloneCluster(directory, workers=1) as running:
        yield running


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A directory with the file connectors' own jar, and no other."""
    directory = tmp_path / "plugins"
    (directory / "connect-file").mkdir(parents=True)
    jar = next(each for each in kafkas(FILE_SOURCE).jars if each.name.startswith("connect-file-"))
    shutil.copy(jar, directory / "connect-file")
    return directory


def executors_of_their_own(home: Path) -> dict[str, str]:
    """Return properties by which executors have an empty home, and no repository that they could reach."""
    home.mkdir()
    settings = home.with_suffix(".xml")
    settings.write_text(_NO_REPOSITORY)
    variables = {"HOME": home, "XDG_CACHE_HOME": home, IVY_SETTINGS: settings}
    return {f"spark.executorEnv.{name}": str(value) for name, value in variables.items()}


def java_elsewhere(home: Path) -> Path:
    """Make ``home`` a Java that is this machine's but for a library of its own."""
    real = find_java().home
    shutil.copytree(real / "lib" / "server", home / "lib" / "server")
    for directory, copy in ((real, home), (real / "lib", home / "lib")):
        for entry in directory.iterdir():
            if not (copy / entry.name).exists():
                (copy / entry.name).symlink_to(entry)
    return home


def libraries(cluster: StandaloneCluster) -> set[str]:
    """Return the JVMs' libraries that the processes of tasks have loaded."""
    tasks = [task for executor in cluster.executors() for task in task_processes(executor)]
    return {each.path for task in tasks for each in task.memory_maps() if each.path.endswith("/libjvm.so")}


def test_a_java_task_runs_on_an_executor_with_the_jars_that_the_worker_sends(
    cluster: StandaloneCluster, plugins: Path, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """It has the executor's Java, not the worker's."""
    home, file, java = tmp_path / "home", tmp_path / "lines", java_elsewhere(tmp_path / "java")
    file.write_text("".join(f"line {number}\n" for number in range(500)))
    properties = {
        "group.id": unique,
        "plugin.path": str(plugins),
        "spark.master": cluster.url,
        "spark.archives": f"{python_without_headrace(tmp_path)}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        **SMALL,
        **executors_of_their_own(home),
        "spark.executorEnv.JAVA_HOME": str(java),
    }
    (tmp_path / "worker").mkdir()
    with WorkerProcess(tmp_path / "worker", broker.bootstrap_servers, **properties) as worker:
        config = {"connector.class": f"java:{FILE_SOURCE}", "tasks.max": "1", "exactly.once.support": "required"}
        worker.create(unique, **config, file=str(file), topic=unique)
        worker.wait_for_tasks(unique)
        assert wait_for_values(broker.bootstrap_servers, unique, 500) == file.read_bytes().splitlines()
        offsets = committed_offsets(broker.bootstrap_servers, worker.properties["offset.storage.topic"], unique)
        assert offsets == {json.dumps({"filename": str(file)}): {"position": file.stat().st_size}}
        assert not worker.task_processes()
        assert libraries(cluster) == {str(java / "lib" / "server" / "libjvm.so")}
        worker.delete(unique)
        wait_for(lambda: not cluster.busy_executors(), 60, "the end of the task's process")
    assert not list(home.iterdir())
