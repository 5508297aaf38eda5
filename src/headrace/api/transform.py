# SPDX-License-Identifier: Apache-2.0
"""Single message transformations and predicates (KIP-66, KIP-585)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from headrace.api.config_def import ConfigDef
from headrace.api.connector import UNDEFINED_VERSION
from headrace.api.record import ConnectRecord

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
