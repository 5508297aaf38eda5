# SPDX-License-Identifier: Apache-2.0
"""The common part of Kafka's source connectors for tests, whose tasks differ by a number only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from headrace import KAFKA_VERSION
from headrace.api.source import ExactlyOnceSupport, SourceConnector

ID_CONFIG: Final = "id"


class NumberedTasksConnector(SourceConnector):
    """A source connector with as many tasks as allowed, each with an `id` of its own."""

    def version(self) -> str:
        return KAFKA_VERSION

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._props, ID_CONFIG: str(task)} for task in range(max_tasks)]

    def stop(self) -> None:
        pass

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED
