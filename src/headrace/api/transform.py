# SPDX-License-Identifier: Apache-2.0
"""Single message transformations and predicates (KIP-66, KIP-585).

A transformation of every record's topic::

    class AddPrefix(Transformation[R]):
        def config(self):
            return ConfigDef().define("prefix", ConfigType.STRING, doc="Put before the topic's name.")

        def configure(self, configs):
            self._prefix = self.config().parse(configs)["prefix"]

        def apply(self, record):
            return record.with_topic(self._prefix + record.topic)
"""

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
    """A change of one record at a time (Java: `Transformation`). Each task has its own instances, for its thread."""

    columnwise: ClassVar[bool] = False
    """True if one call of `apply` can stand for all records of a polled Arrow table. Not in Java.

    The call's record has columns (`headrace.api.data_column`) in the place of values, as its key and value or within
    their structs, and as its partition, timestamp and headers' values. So `apply` may move, copy, drop and rename data,
    and add the same to each record, by its topic, its schemas and the names of its headers. It must not look at values,
    not even for None within a struct, nor at source partition and offset; nor change anything in place. Keys and values
    are never null. If it raises an exception, it is called for each record. Only the class itself that has `apply` (or
    `apply_to`), or a class derived from it, can say so.
    """

    def version(self) -> str:
        """Return the version that `GET /connector-plugins` shows; by default undefined."""
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the transformation's properties."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure by the properties under `transforms.<alias>.`, prefix removed. Called once, first."""

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """Return the record, another one made by its `new_record` or `replace`, or None to drop it.

        Called once per record, in order, and again for the same record after a RetriableError. Do not change `record`
        in place, except its headers. Other errors are handled according to `errors.tolerance`.
        """

    def close(self) -> None:
        """Release all resources. Called once, last."""


class RecordPart(Enum):
    """The part of a record that a transformation works on; the value is the suffix of Java's class names."""

    KEY = "Key"
    VALUE = "Value"


class PartTransformation(Transformation[R]):
    """A transformation that changes only a record's key or only its value. Not in Java.

    Write `apply_to` once, and define two subclasses that differ in their `part`, as Java's `Cast$Key` and `Cast$Value`
    do. Consecutive transformations of this kind create one record together, not one each.
    """

    part: ClassVar[RecordPart]

    @abstractmethod
    def apply_to(self, record: R, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the new schema and value of the part that has this schema and value. Contract and errors as `apply`.

        Use `record` for everything else only (topic, timestamp, headers, the other part): its own `part` may be
        outdated.
        """

    def apply(self, record: R) -> R | None:
        """Return a record with the part changed by `apply_to`."""
        if self.part is RecordPart.VALUE:
            return record.with_value(*self.apply_to(record, record.value_schema, record.value))
        return record.with_key(*self.apply_to(record, record.key_schema, record.key))


class Predicate(ABC, Generic[R]):
    """A condition for applying a transformation to a record (Java: `Predicate`). Threads as for `Transformation`."""

    columnwise: ClassVar[bool] = False
    """True if one call of `test` can decide for all records of a batch, as in `Transformation.columnwise`."""

    def version(self) -> str:
        """Return the version that `GET /connector-plugins` shows; by default undefined."""
        return UNDEFINED_VERSION

    def config(self) -> ConfigDef:
        """Return the definition of the predicate's properties."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure by the properties under `predicates.<alias>.`, prefix removed. Called once, first."""

    @abstractmethod
    def test(self, record: R) -> bool:
        """Return True if the record meets the condition."""

    def close(self) -> None:
        """Release all resources. Called once, last."""
