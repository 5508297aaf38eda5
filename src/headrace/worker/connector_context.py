# SPDX-License-Identifier: Apache-2.0
"""The contexts that connectors are initialized with."""

from __future__ import annotations

from collections.abc import Callable

from headrace.api.connector import ConnectorContext
from headrace.api.sink import SinkConnectorContext
from headrace.api.source import OffsetStorageReader, SourceConnectorContext


class _WorkerConnectorContext(ConnectorContext):
    def __init__(self, reconfigure: Callable[[], None], fail: Callable[[BaseException], None]) -> None:
        self._reconfigure = reconfigure
        self._fail = fail

    def request_task_reconfiguration(self) -> None:
        self._reconfigure()

    def raise_error(self, error: BaseException) -> None:
        self._fail(error)


class WorkerSinkConnectorContext(_WorkerConnectorContext, SinkConnectorContext):
    """The context of a sink connector."""


class WorkerSourceConnectorContext(_WorkerConnectorContext, SourceConnectorContext):
    """The context of a source connector."""

    def __init__(
        self,
        reconfigure: Callable[[], None],
        fail: Callable[[BaseException], None],
        reader: OffsetStorageReader,
    ) -> None:
        super().__init__(reconfigure, fail)
        self._reader = reader

    @property
    def offset_storage_reader(self) -> OffsetStorageReader:
        return self._reader
