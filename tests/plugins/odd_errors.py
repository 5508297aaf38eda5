# SPDX-License-Identifier: Apache-2.0
"""Plugins that raise an error of an odd kind (``odd``) in one of their methods (``where``)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api import (
    ConfigDef,
    ConfigError,
    ConnectError,
    RetriableError,
    Schema,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)
from headrace.api.transform import Transformation
from headrace.converters.string_converter import StringConverter

log = logging.getLogger(__name__)


class Mute(ConnectError):
    def __str__(self) -> str:
        raise SystemExit("no text")

    __repr__ = __str__


class MuteConfigError(ConfigError):
    __str__ = __repr__ = Mute.__str__


class MuteRetriableError(RetriableError):
    __str__ = __repr__ = Mute.__str__


class Bare(BaseException):
    pass


class Text(str):
    """A text that only this module knows: who unpickles it has to import it."""


class Dressed(ConnectError):
    def __str__(self) -> str:
        return Text("dressed")


ERRORS: Mapping[str, Any] = {
    "exit": lambda: SystemExit(7),
    "interrupt": lambda: KeyboardInterrupt("ctrl-c"),
    "base": lambda: Bare("bare"),
    "mute": lambda: Mute(),
    "mute-config": lambda: MuteConfigError("x", "y"),
    "mute-retriable": lambda: MuteRetriableError(),
    "half": lambda: ConnectError("half \ud83d of a pair"),
    "huge": lambda: ValueError("huge " + "\x00" * 100_000_000),
    "dressed": lambda: Dressed(),
    "group": lambda: BaseExceptionGroup("both", [SystemExit(1), Mute()]),
}


def fail(config: Mapping[str, Any], where: str) -> None:
    if config.get("where") == where:
        raise ERRORS[config["odd"]]()


class _Odd:
    _props: Mapping[str, str] = {}

    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        fail(props, "start")

    def stop(self) -> None:
        fail(self._props, "stop")

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        fail(self._props, "task_configs")
        return [dict(self._props)]

    def config(self) -> ConfigDef:
        return ConfigDef()

    def validate(self, config: Mapping[str, str]) -> Any:
        fail(config, "validate")
        return super().validate(config)  # type: ignore[misc]


class OddSource(_Odd, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        return OddSourceTask

    def exactly_once_support(self, config: Mapping[str, str]) -> Any:
        fail(config, "exactly_once_support")

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        fail(config, "alter_offsets")
        return True


class OddSink(_Odd, SinkConnector):
    def task_class(self) -> type[SinkTask]:
        return OddSinkTask


class ExitingVersion(OddSource):
    def version(self) -> str:
        raise SystemExit(3)


class OddSourceTask(SourceTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        self._position = 0
        fail(props, "task.start")

    def poll(self) -> list[SourceRecord[Any, Any]]:
        time.sleep(0.02)
        fail(self._props, "poll")
        self._position += 1
        topic = self._props["topic"]
        return [SourceRecord({}, {"n": self._position}, topic, value_schema=Schema.STRING, value="x")]

    def commit(self) -> None:
        fail(self._props, "commit")

    def stop(self) -> None:
        fail(self._props, "task.stop")


class OddSinkTask(SinkTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._props = props

    def put(self, records: Any) -> None:
        if records:
            fail(self._props, "put")

    def stop(self) -> None:
        fail(self._props, "task.stop")


class OddStep(Transformation[SourceRecord]):
    def configure(self, configs: Mapping[str, Any]) -> None:
        self._odd = configs.get("odd")
        self._text = configs.get("text", "")

    def apply(self, record: SourceRecord) -> SourceRecord:
        if self._odd is not None:
            raise ERRORS[self._odd]()
        log.warning("the plugin says %s", self._text)
        raise ConnectError(self._text)


class OddConverter(StringConverter):
    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self._odd = configs["odd"]

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes:
        raise ERRORS[self._odd]()
