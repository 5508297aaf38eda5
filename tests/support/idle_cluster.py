# SPDX-License-Identifier: Apache-2.0
"""Workers in this process, over a real broker, whose engine is left out: their tasks do nothing but ask and tell."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import Future

from headrace.api.errors import ConfigError, RetriableError
from headrace.api.frames import FrameJob
from headrace.config.distributed_config import DistributedConfig
from headrace.distributed.assembly import distributed_herder
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.model.info import SparkAttempt
from headrace.model.state import TargetState
from headrace.plugins.discovery import plugins_of
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient
from headrace.task.task_spec import TaskSpec
from headrace.worker.tasks.task_launcher import TaskListener


class IdleTask:
    """A task without a process: confirms its start, runs, pauses and stops when told to."""

    def __init__(self, spec: TaskSpec, listener: TaskListener) -> None:
        self.spec = spec
        self.confirmed: Future[bool] = Future()
        self._listener = listener
        self._gone = threading.Event()
        threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        confirmed = self._listener.confirm_start(self.spec.id, 0)
        self.confirmed.set_result(confirmed)
        if confirmed:
            running = self.spec.target_state is TargetState.STARTED
            (self._listener.running if running else self._listener.paused)(self.spec.id)

    def pause(self) -> None:
        self._listener.paused(self.spec.id)

    def resume(self) -> None:
        self._listener.running(self.spec.id)

    def stop(self) -> None:
        self._gone.set()
        threading.Thread(target=self._listener.stopped, args=(self.spec.id,), daemon=True).start()

    def kill(self) -> None:
        self.stop()

    def await_stopped(self, timeout: float) -> bool:
        return self._gone.wait(timeout)

    def forget_topics(self) -> None: ...

    def spark_attempt(self) -> SparkAttempt | None:
        return None


class IdleLauncher:
    """A ``TaskLauncher`` that keeps what it was asked to launch."""

    def __init__(self) -> None:
        self.launched: list[IdleTask] = []

    def start(self) -> None: ...

    def analyse(self, job: FrameJob) -> ConfigError | None:
        return None

    def run_job(self, job: FrameJob) -> None:
        raise RetriableError("no Spark here")

    def launch(self, spec: TaskSpec, listener: TaskListener) -> IdleTask:
        task = IdleTask(spec, listener)
        self.launched.append(task)
        return task

    def stop(self, timeout: float) -> None: ...


class Cluster:
    """One worker after the other over the same topics."""

    def __init__(self, bootstrap: str, **props: str) -> None:
        name = f"test-{uuid.uuid4()}"
        self.config = DistributedConfig(
            {
                "bootstrap.servers": bootstrap,
                "group.id": name,
                "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter",
                "exactly.once.source.support": "enabled",
                **{
                    f"{kind}.storage.{key}": value
                    for kind in ("config", "offset", "status")
                    for key, value in {"topic": f"{name}-{kind}", "replication.factor": "1"}.items()
                },
                "offset.storage.partitions": "2",
                "status.storage.partitions": "2",
                **props,
            }
        )
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
