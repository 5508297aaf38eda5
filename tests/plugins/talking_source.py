# SPDX-License-Identifier: Apache-2.0
"""A source whose connector and task say at DEBUG what they do."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from headrace.api import ConfigDef, Schema, SourceConnector, SourceRecord, SourceTask

log = logging.getLogger(__name__)


class TalkingSourceConnector(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        log.debug("the connector starts")

    def stop(self) -> None:
        log.debug("the connector stops")

    def task_class(self) -> type[SourceTask]:
        return TalkingSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{"topic": self._props["topic"]}]

    def config(self) -> ConfigDef:
        return ConfigDef()


class TalkingSourceTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._topic = props["topic"]
        self._position = 0
        self._polls = self.context.plugin_metrics().counter("polls-total", "Polls.", {"of": "records"})

    def poll(self) -> list[SourceRecord[Any, Any]] | None:
        time.sleep(0.05)
        self._position += 1
        self._polls.add()
        log.debug("poll %d", self._position)
        return [SourceRecord({}, {"n": self._position}, self._topic, value_schema=Schema.STRING, value="x")]

    def stop(self) -> None: ...
