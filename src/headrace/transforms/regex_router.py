# SPDX-License-Identifier: Apache-2.0
"""Rename topics by a regular expression (Java: `org.apache.kafka.connect.transforms.RegexRouter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import DataError
from headrace.api.transform import R, Transformation
from headrace.transforms._common import Remembered
from headrace.transforms._java_regex import Replacement, compile_java_regex, regex_validator

REGEX: Final = "regex"
REPLACEMENT: Final = "replacement"
_REMEMBERED: Final = 1000


class RegexRouter(Transformation[R]):
    """A transformation that renames topics which match as a whole. Each topic is matched once.

    As in Java the first match within the topic is replaced, which for a pattern such as `a|ab` or `.*?` can be less
    than the whole topic.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._pattern = compile_java_regex(config[REGEX])
        self._replacement = Replacement(config[REPLACEMENT] or "")
        self._routes = Remembered(self._route, _REMEMBERED)

    def apply(self, record: R) -> R | None:
        renamed = self._routes[record.topic]
        return record if renamed is None else record.with_topic(renamed)

    def _route(self, topic: str | None) -> str | None:
        """Return the new name; None if the topic keeps its own."""
        if topic is None:
            raise DataError("RegexRouter cannot rename the topic of a record that has none")
        if self._pattern.fullmatch(topic) is None:
            return None
        match = self._pattern.search(topic)
        assert match is not None
        return topic[: match.start()] + self._replacement.expand(match) + topic[match.end() :]


_CONFIG: Final = (
    ConfigDef()
    .define(
        REGEX,
        Type.STRING,
        importance=Importance.HIGH,
        validator=regex_validator(),
        doc="The regular expression, in Java's syntax, that the whole name of a topic must match.",
    )
    .define(
        REPLACEMENT,
        Type.STRING,
        importance=Importance.HIGH,
        doc="The new name of the topic; $1 or ${name} stand for what a group of the expression matched.",
    )
)
