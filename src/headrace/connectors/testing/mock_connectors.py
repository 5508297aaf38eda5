# SPDX-License-Identifier: Apache-2.0
"""MockSource and MockSink: connectors without records that fail on request (Java: `MockConnector`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Connector, Task
from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord, SourceRecord
from headrace.api.sink import SinkConnector, SinkTask, TopicPartition
from headrace.api.source import ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.api.validators import Nullable, Range

MOCK_MODE_CONFIG: Final = "mock_mode"
DELAY_MS_CONFIG: Final = "delay_ms"
CONNECTOR_FAILURE: Final = "connector-failure"
TASK_FAILURE: Final = "task-failure"
DEFAULT_DELAY_MS: Final = 15_000

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        MOCK_MODE_CONFIG,
        Type.STRING,
        None,
        importance=Importance.MEDIUM,
        doc=f"What fails: {CONNECTOR_FAILURE}, {TASK_FAILURE}; nothing with any other text, or none.",
    )
    .define(
        DELAY_MS_CONFIG,
        Type.LONG,
        DEFAULT_DELAY_MS,
        importance=Importance.MEDIUM,
        validator=Nullable(Range.at_least(0)),
        doc="The time in ms after the start at which it fails.",
    )
)
_LONGEST_WAIT_MS: Final = 250
_POLL_SECONDS: Final = 0.1


class MockConnector(Connector):
    """The part that MockSource and MockSink share: one task, and an error after a delay in mode `connector-failure`."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)
        config = CONFIG_DEF.parse(props)
        if config[MOCK_MODE_CONFIG] == CONNECTOR_FAILURE:
            error = ConnectError(f"{MOCK_MODE_CONFIG}={CONNECTOR_FAILURE}: this connector was asked to fail")
            self._timer = threading.Timer(config[DELAY_MS_CONFIG] / 1000, self.context.raise_error, [error])
            self._timer.daemon = True
            self._timer.start()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def config(self) -> ConfigDef:
        return CONFIG_DEF


class FailingTask:
    """Raises an error once the delay has passed, in mode `task-failure`."""

    def __init__(self, props: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        config = CONFIG_DEF.parse(props)
        self.delay_ms: int | None = config[DELAY_MS_CONFIG] if config[MOCK_MODE_CONFIG] == TASK_FAILURE else None
        """None if it never fails."""
        self._clock = clock
        self._start = clock()

    def fail_if_due(self) -> None:
        if self.delay_ms is not None and (self._clock() - self._start) * 1000 > self.delay_ms:
            raise ConnectError(f"{MOCK_MODE_CONFIG}={TASK_FAILURE}: this task was asked to fail")


class MockSinkConnector(MockConnector, SinkConnector):
    """One task (Java: `MockSinkConnector`)."""

    def task_class(self) -> type[Task]:
        return MockSinkTask

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept any offsets: it keeps none."""
        return True


class MockSinkTask(SinkTask):
    """Discards all records."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._failing = FailingTask(props)
        self._come_back_soon()

    def put(self, records: Collection[SinkRecord]) -> None:
        self._failing.fail_if_due()
        self._come_back_soon()

    def stop(self) -> None:
        pass

    def _come_back_soon(self) -> None:
        """Schedule the next call, so that the task fails in time even without records."""
        if self._failing.delay_ms is not None:
            self.context.timeout_ms(min(self._failing.delay_ms, _LONGEST_WAIT_MS))


class MockSourceConnector(MockConnector, SourceConnector):
    """One task (Java: `MockSourceConnector`)."""

    def task_class(self) -> type[Task]:
        return MockSourceTask

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Accept any offsets: it has none."""
        return True


class MockSourceTask(SourceTask):
    """Returns no records."""

    def version(self) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def start(self, props: Mapping[str, str]) -> None:
        self._failing = FailingTask(props)

    def poll(self) -> list[SourceRecord] | None:
        self._failing.fail_if_due()
        self._stopped.wait(_POLL_SECONDS)
        return None

    def stop(self) -> None:
        self._stopped.set()
