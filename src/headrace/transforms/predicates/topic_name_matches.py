# SPDX-License-Identifier: Apache-2.0
"""TopicNameMatches (Java: `org.apache.kafka.connect.transforms.predicates.TopicNameMatches`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.transform import Predicate, R
from headrace.api.validators import CompositeValidator, NonEmptyString
from headrace.transforms._java_regex import compile_java_regex, regex_validator
from headrace.transforms._remembered import Remembered

PATTERN: Final = "pattern"
_REMEMBERED: Final = 1000


class TopicNameMatches(Predicate[R]):
    """A predicate that is true for records whose topic matches as a whole. Each topic is matched once."""

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._pattern = compile_java_regex(_CONFIG.parse(configs)[PATTERN])
        self._known = Remembered(self._look_at, _REMEMBERED)

    def test(self, record: R) -> bool:
        return self._known[record.topic]

    def _look_at(self, topic: str | None) -> bool:
        return topic is not None and self._pattern.fullmatch(topic) is not None


_CONFIG: Final = ConfigDef().define(
    PATTERN,
    Type.STRING,
    validator=CompositeValidator(NonEmptyString(), regex_validator()),
    doc="The regular expression, in Java's dialect, that a topic has to match as a whole.",
)
