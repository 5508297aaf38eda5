# SPDX-License-Identifier: Apache-2.0
"""Transformations of numbers as text that fail for some of them, and a predicate of numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headrace.api import DataError, RetriableError, SourceRecord
from headrace.api.transform import PartTransformation, Predicate, RecordPart, Transformation


class Multiple(Predicate[Any]):
    """True for the multiples of `of`."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._of = int(configs["of"])

    def test(self, record: Any) -> bool:
        return int(record.value) % self._of == 0


class Refuse(Transformation[SourceRecord]):
    """Refuses every `every`th number for good."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._every = int(configs["every"])

    def apply(self, record: SourceRecord) -> SourceRecord:
        if int(record.value) % self._every == 0:
            raise DataError(f"{record.value} is refused")
        return record


class Spoil(PartTransformation[SourceRecord]):
    """Makes something that no converter knows of every `every`th number."""

    part = RecordPart.VALUE

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._every = int(configs["every"])

    def apply_to(self, record: SourceRecord, schema: Any, value: Any) -> Any:
        return (None, object()) if int(value) % self._every == 0 else (schema, value)


class Waver(Transformation[SourceRecord]):
    """Refuses the number `at` as often as `times` says, for now."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._at = configs["at"]
        self._left = int(configs["times"])

    def apply(self, record: SourceRecord) -> SourceRecord:
        if record.value == self._at and self._left > 0:
            self._left -= 1
            raise RetriableError(f"{record.value} has to wait")
        return record


class Swell(Transformation[SourceRecord]):
    """Makes every `every`th number a text of `bytes` bytes, which cannot be compressed if they are `random`."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._every = int(configs["every"])
        self._bytes = int(configs["bytes"])
        self._random = configs.get("random") == "true"

    def apply(self, record: SourceRecord) -> SourceRecord:
        if int(record.value) % self._every:
            return record
        text = os.urandom(self._bytes // 2).hex() if self._random else "x" * self._bytes
        return record.replace(value=text)
