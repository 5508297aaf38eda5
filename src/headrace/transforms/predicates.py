# SPDX-License-Identifier: Apache-2.0
"""The built-in predicates, which decide whether a transformation applies to a record (KIP-585).

Java: `org.apache.kafka.connect.transforms.predicates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.transform import Predicate, R
from headrace.api.validators import CompositeValidator, NonEmptyString
from headrace.transforms._common import Remembered
from headrace.transforms._java_regex import compile_java_regex, regex_validator

PATTERN: Final = "pattern"
NAME: Final = "name"
_REMEMBERED: Final = 1000
_BY_TOPIC: Final = ConfigDef().define(
    PATTERN,
    Type.STRING,
    validator=CompositeValidator(NonEmptyString(), regex_validator()),
    doc="The regular expression, in Java's syntax, that the whole name of a topic must match.",
)
_BY_HEADER: Final = ConfigDef().define(NAME, Type.STRING, validator=NonEmptyString(), doc="The name of the header.")


class HasHeaderKey(Predicate[R]):
    """A predicate that is true for records with at least one header of that name, whatever its value."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _BY_HEADER

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._name = _BY_HEADER.parse(configs)[NAME]

    def test(self, record: R) -> bool:
        if record.has_headers:
            name = self._name
            for header in record.headers:
                if header.key == name:
                    return True
        return False


class RecordIsTombstone(Predicate[R]):
    """A predicate that is true for records whose value is null, whatever its schema and default."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def test(self, record: R) -> bool:
        return record.value is None


class TopicNameMatches(Predicate[R]):
    """A predicate that is true for records whose topic matches as a whole. Each topic is matched once."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _BY_TOPIC

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._pattern = compile_java_regex(_BY_TOPIC.parse(configs)[PATTERN])
        self._known = Remembered(self._look_at, _REMEMBERED)

    def test(self, record: R) -> bool:
        return self._known[record.topic]

    def _look_at(self, topic: str | None) -> bool:
        return topic is not None and self._pattern.fullmatch(topic) is not None
