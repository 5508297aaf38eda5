# SPDX-License-Identifier: Apache-2.0
"""Single message transformations and predicates (KIP-66, KIP-585)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION
from headrace.api.record import ConnectRecord
from headrace.api.schema import Schema

R = TypeVar("R", bound=ConnectRecord)


class Transformation(ABC, Generic[R]):
    """Changes one record at a time. Every task has its own instances, used on the task's thread only."""

    def version(self) -> str:
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """The properties that this transformation understands."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the properties under `transforms.<alias>.`, prefix removed. Called once, first."""

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """The record itself, another one made by its `new_record` or `replace`, or None to drop it.

        Called once per record, in order, and again for the same record after a RetriableError. The record that comes
        in must not be changed, its headers aside. An error is handled as `errors.tolerance` says.
        """

    def close(self) -> None:
        """Release everything. Called once, last."""


class RecordPart(Enum):
    """The half of a record that a transformation works on; the value is the suffix of Java's class names."""

    KEY = "Key"
    VALUE = "Value"


class PartTransformation(Transformation[R]):
    """Changes a record's key or its value, and nothing else of it.

    Write `apply_to` once and name two classes that differ in their `part`, as Java has `Cast$Key` and `Cast$Value`.
    Neighbours in a chain that are of this kind make one record together, not one each.
    """

    part: ClassVar[RecordPart]

    @abstractmethod
    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """What becomes of the part that has this schema and value; as contract, threads and errors see `apply`.

        Use `record` for the rest (topic, timestamp, headers, and the other part): its own `part` may be an older one.
        """

    def apply(self, record: R) -> R | None:
        if self.part is RecordPart.VALUE:
            return record.with_value(*self.apply_to(record, record.value_schema, record.value))
        return record.with_key(*self.apply_to(record, record.key_schema, record.key))


class Predicate(ABC, Generic[R]):
    """Decides whether a transformation applies to a record. Same threads and life as `Transformation`."""

    def version(self) -> str:
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """The properties that this predicate understands."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the properties under `predicates.<alias>.`, prefix removed. Called once, first."""

    @abstractmethod
    def test(self, record: R) -> bool:
        """Whether the record meets the predicate."""

    def close(self) -> None:
        """Release everything. Called once, last."""
