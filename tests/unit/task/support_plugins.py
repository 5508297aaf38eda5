# SPDX-License-Identifier: Apache-2.0
"""Plugins that the tests name by module and class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from headrace.api.converter import Converter
from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import SourceTask
from headrace.api.transform import Predicate, Transformation

closed: list[str] = []


class Suffix(Transformation[SourceRecord]):
    """Adds `suffix` to values; drops `drop`, and fails on `bad`, on `refused` and, for now, on `later`."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        assert not {"type", "predicate", "negate"} & set(configs)
        self._suffix = configs.get("suffix", "!")

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        if record.value == "drop":
            return None
        if record.value == "bad":
            raise ZeroDivisionError("oh")
        if record.value == "refused":
            raise DataError("not that one")
        if record.value == "later":
            raise RetriableError("not now")
        return record.replace(value=record.value + self._suffix)

    def close(self) -> None:
        closed.append(f"suffix {self._suffix}")


class Short(Predicate[SourceRecord]):
    """Values shorter than `length`."""

    made: ClassVar[int] = 0

    def configure(self, configs: Mapping[str, Any]) -> None:
        type(self).made += 1
        self._length = int(configs["length"])

    def test(self, record: SourceRecord) -> bool:
        return len(record.value) < self._length

    def close(self) -> None:
        closed.append("predicate")


class Plain(Converter):
    """Text as it is, with the properties it was given; no columnar path."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self._mark = configs.get("mark", "")

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes | None:
        return None if value is None else f"{value}{self._mark}".encode()

    def to_connect_data(self, topic: str, value: bytes | None) -> Any:
        raise NotImplementedError


class ScriptedTask(SourceTask):
    """Polls return, or raise, the entries of the script in turn."""

    def __init__(self, *polls: Any) -> None:
        self.polls = list(polls)

    def start(self, props: Any) -> None: ...

    def poll(self) -> Any:
        polled = self.polls.pop(0)
        if isinstance(polled, BaseException):
            raise polled
        return polled

    def stop(self) -> None: ...


class Strict(Transformation[SourceRecord]):
    """Cannot be configured."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        raise ConfigError.invalid("limit", "x", "too much")

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record
