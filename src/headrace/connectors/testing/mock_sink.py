# SPDX-License-Identifier: Apache-2.0
"""MockSink: a sink that writes nothing and fails on request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from headrace import KAFKA_VERSION
from headrace.api.connector import Task
from headrace.api.record import SinkRecord
from headrace.api.sink import SinkConnector, SinkTask, TopicPartition
from headrace.connectors.testing.mock_mode import FailingTask, MockConnector

_LONGEST_WAIT_MS: Final = 250


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
            self.context.timeout_ms(max(1, min(self._failing.delay_ms, _LONGEST_WAIT_MS)))
