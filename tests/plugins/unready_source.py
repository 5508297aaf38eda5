# SPDX-License-Identifier: Apache-2.0
"""A source that cannot make its task configurations while there is a file, and then has one task that polls nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.api import ConfigDef, RetriableError, SourceConnector, SourceTask


class DatabaseAwayError(RetriableError):
    """An error of the connector's own."""


class UnreadySource(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None:
        self._obstacle = Path(props["obstacle"])

    def stop(self) -> None: ...

    def task_class(self) -> type[SourceTask]:
        return IdleTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._obstacle.exists():
            raise DatabaseAwayError("no database")
        return [{}]

    def config(self) -> ConfigDef:
        return ConfigDef()


class IdleTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None: ...

    def poll(self) -> None:
        time.sleep(0.1)

    def stop(self) -> None: ...
