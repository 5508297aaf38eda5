# SPDX-License-Identifier: Apache-2.0
"""Real connectors whose configuration says what they do; imported by the worker under their names."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api.config_def import ConfigDef
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.sink import SinkConnector, SinkTask
from headrace.api.source import SourceConnector, SourceTask

CALLS: dict[str, list[str]] = {}
INSTANCES: dict[str, SourceConnector] = {}
GATES: dict[str, threading.Event] = {}
"""A method named in `block.in` waits for the event of its connector."""


class ObedientTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None: ...

    def poll(self) -> None: ...

    def stop(self) -> None: ...


class ObedientSource(SourceConnector):
    """`fail.in`, `block.in`: a method's name; `tasks`: how many; `result`: what task_configs returns otherwise."""

    props: Mapping[str, str]

    def version(self) -> str:
        return "1.2"

    def start(self, props: Mapping[str, str]) -> None:
        self.props = props
        INSTANCES[props["name"]] = self
        self._do("start")

    def task_class(self) -> type[SourceTask]:
        return ObedientTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        self._do("task_configs")
        weird: dict[str, Any] = {"none": None, "strings": ["a"], "ints": [{"a": 1}], "text": "abc"}
        if "result" in self.props:
            return weird[self.props["result"]]  # type: ignore[no-any-return]
        return [{"n": str(n)} for n in range(int(self.props.get("tasks", max_tasks)))]

    def stop(self) -> None:
        if hasattr(self, "props"):
            self._do("stop")

    def config(self) -> ConfigDef:
        return ConfigDef()

    def _do(self, method: str) -> None:
        name = self.props["name"]
        CALLS.setdefault(name, []).append(method)
        if self.props.get("block.in") == method:
            GATES[name].wait(30)
        if self.props.get("fail.in") == method:
            kinds = {
                "config": ConfigError.invalid("file", "x", "no such file"),
                "retriable": RetriableError(self.props.get("password", "later")),
            }
            raise kinds.get(self.props.get("fail.with", ""), ValueError("boom"))


class ObedientSink(SinkConnector):
    def start(self, props: Mapping[str, str]) -> None: ...

    def task_class(self) -> type[SinkTask]:
        return SinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{} for _ in range(max_tasks)]

    def stop(self) -> None: ...

    def config(self) -> ConfigDef:
        return ConfigDef()


ALTERED: dict[str, list[Any]] = {}
"""What each ``AlteredSource`` was asked about last."""


class AlteredSource(ObedientSource):
    """One with an ``alter_offsets``, which raises what ``fail`` says."""

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Any) -> bool:
        errors: dict[str, Exception] = {
            "connect": ConnectError("no"),
            "value": ValueError("no"),
            "unsupported": NotImplementedError(),
            "retriable": RetriableError("later"),
            "other": OSError("no"),
        }
        if "fail" in connector_config:
            raise errors[connector_config["fail"]]
        ALTERED[connector_config["name"]] = list(offsets)
        return True
