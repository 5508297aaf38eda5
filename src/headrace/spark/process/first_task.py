# SPDX-License-Identifier: Apache-2.0
"""Creates two tasks in Spark's Python daemon before it forks, so that its forks share what that leaves in memory.

The first task of a process imports modules, parses definitions, compiles expressions, and has librdkafka and OpenSSL
prepare themselves. Done by each fork, that is a third of the memory that it does not share with the daemon.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from headrace.model.ids import ConnectorTaskId
from headrace.spark.process.executor_entry import FACTORIES
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl

if TYPE_CHECKING:
    from headrace.api.frames import Frames
    from headrace.task.task_protocol import ProcessEvent, Request

log = logging.getLogger(__name__)

_CONFIG: Final = {"name": "first", "connector.class": "first", "topics": "first"}
_CONVERTERS: Final = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
_PRODUCER: Final = {"transactional.id": "first", "enable.idempotence": "true"}
_CONSUMER: Final = {"group.id": "first"}
_TASKS: Final = {
    TaskKind.SOURCE: "headrace.connectors.testing.verifiable_source:VerifiableSourceTask",
    TaskKind.SINK: "headrace.connectors.file_stream.file_stream_sink:FileStreamSinkTask",
}


def create_first_tasks() -> None:
    """Create a source task and a sink task of built-in connectors, and close them, neither started.

    Their clients have no servers, so nothing connects, and their threads have ended when this returns: none is lost in
    a fork. What fails is logged: a task that needs it reports it.
    """
    for spec in _specs():
        try:
            FACTORIES[spec.kind](spec, _NoLink(), TaskControl()).close()
        except Exception:
            log.warning(
                "Each task prepares itself, which takes longer: no %s could be created", spec.kind, exc_info=True
            )


def _specs() -> Iterator[TaskSpec]:
    for kind, task_class in _TASKS.items():
        yield TaskSpec(
            id=ConnectorTaskId("first", 0),
            kind=kind,
            task_class=task_class,
            task_config=_CONFIG,
            connector_config=_CONFIG,
            worker_config=_CONVERTERS,
            producer=_PRODUCER,
            consumer=_CONSUMER,
            offsets_topic="first",
            exactly_once=True,
        )


class _NoLink:
    """``headrace.task.worker_link.WorkerLink`` of a task that no worker knows."""

    frames = cast("Frames", None)

    def send(self, event: ProcessEvent) -> None:
        pass

    def ask(self, request: Request[Any]) -> Any:
        raise AssertionError(f"a task that is not started asks for {request}")
