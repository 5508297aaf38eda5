# SPDX-License-Identifier: Apache-2.0
"""Scheduled failures, for MockSource and MockSink (Java: `MockConnector`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Connector
from headrace.api.errors import ConnectError
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
        doc="How many ms after the start it fails.",
    )
)


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
