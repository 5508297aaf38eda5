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
        self._known: dict[str, bool] = {}

    def test(self, record: R) -> bool:
        known = self._known.get(record.topic)
        return self._look_at(record.topic) if known is None else known

    def _look_at(self, topic: str | None) -> bool:
        if topic is None:
            return False
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        matches = self._known[topic] = self._pattern.fullmatch(topic) is not None
        return matches


_CONFIG: Final = ConfigDef().define(
    PATTERN,
    Type.STRING,
    validator=CompositeValidator(NonEmptyString(), regex_validator()),
    doc="The regular expression, in Java's dialect, that a topic has to match as a whole.",
)
