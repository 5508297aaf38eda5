# SPDX-License-Identifier: Apache-2.0
"""MockSource: a source without records that fails on request."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.connector import Task
from headrace.api.record import SourceRecord
from headrace.api.source import ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.connectors.testing.mock_mode import FailingTask, MockConnector

_POLL_SECONDS: Final = 0.1


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
