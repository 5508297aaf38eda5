# SPDX-License-Identifier: Apache-2.0
"""A source connector's settings for the topics that its tasks create (KIP-158). Java: ``TopicCreationConfig``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.config_def import NO_DEFAULT, ConfigDef, Importance, Type, Width, parse_type
from headrace.api.errors import ConfigError
from headrace.api.validators import LambdaValidator

TOPIC_CREATION: Final = "topic.creation."
GROUPS: Final = "topic.creation.groups"
DEFAULT_GROUP: Final = "default"
INCLUDE: Final = "include"
_EXCLUDE: Final = "exclude"
_REPLICATION_FACTOR: Final = "replication.factor"
_PARTITIONS: Final = "partitions"
_NUMBERS: Final = {_REPLICATION_FACTOR: Type.SHORT, _PARTITIONS: Type.INT}
_NUMBER_DOCS: Final = {
    _REPLICATION_FACTOR: "The replication factor of topics that are created; -1 is the brokers' default.",
    _PARTITIONS: "The partitions of topics that are created; -1 is the brokers' default.",
}
_NUMBER_NAMES: Final = {_REPLICATION_FACTOR: "Replication Factor", _PARTITIONS: "Partition Count"}
_OWN: Final = frozenset({INCLUDE, _EXCLUDE, *_NUMBERS})
IGNORED: Final = frozenset(f"{TOPIC_CREATION}{DEFAULT_GROUP}.{name}" for name in (INCLUDE, _EXCLUDE))
"""Properties without effect: the default group has all topics that no other group has."""

Props = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """The settings of topics that match. -1 is the broker's default; ``config`` are Kafka's topic-level settings."""

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    config: Mapping[str, str]

    @property
    def prefix(self) -> str:
        """The prefix of the group's properties, without the last dot."""
        return f"{TOPIC_CREATION}{self.name}"

    def matches(self, topic: str) -> bool:
        return not _matches_any(self.exclude, topic) and _matches_any(self.include, topic)


def uses_topic_creation(props: Props) -> bool:
    """Return True if the connector's tasks create its topics; otherwise the brokers may."""
    return any(name.startswith(TOPIC_CREATION) for name in props)


def topic_groups(props: Props) -> tuple[TopicGroup, ...]:
    """Return the groups in the order in which they are tried, the default group last; empty if there are none.

    Raise ConfigError, naming the property, for one that is missing or not valid.
    """
    raw = {name: text for name, text in props.items() if text is not None}
    parsed = topic_creation_definition(raw).parse(raw)
    if not parsed:
        return ()
    return tuple(_group(name, parsed, raw) for name in (*named_groups(raw), DEFAULT_GROUP))


def topic_creation_definition(props: Props) -> ConfigDef:
    """Return the definition of the properties of all groups in ``props``; empty if it uses none of them.

    The default group must set its numbers, which are the defaults of the other groups. Other settings are not
    inherited.
    """
    definition = ConfigDef()
    if not uses_topic_creation(props):
        return definition
    for group in named_groups(props):
        _define_patterns(definition, group)
        _define_numbers(definition, group, {name: _default_number(name, props) for name in _NUMBERS})
    _define_numbers(definition, DEFAULT_GROUP, dict.fromkeys(_NUMBERS, NO_DEFAULT))
    return definition


def _define_patterns(definition: ConfigDef, group: str) -> None:
    patterns = LambdaValidator(_check_patterns, lambda: "regular expressions")
    for order, (name, doc, shown) in enumerate(
        (
            (INCLUDE, "Regular expressions of which a topic's whole name has to match one.", "Inclusion"),
            (_EXCLUDE, "Regular expressions of which it may match none.", "Exclusion"),
        ),
        1,
    ):
        definition.define(
            f"{TOPIC_CREATION}{group}.{name}",
            Type.LIST,
            "",
            importance=Importance.LOW,
            validator=patterns,
            doc=doc,
            group=_shown_group(group),
            order_in_group=order,
            width=Width.LONG,
            display_name=f"{shown} Topic Pattern for {_shown_group(group)}",
        )


def _define_numbers(definition: ConfigDef, group: str, defaults: Mapping[str, object]) -> None:
    for order, (name, type) in enumerate(_NUMBERS.items(), 3):
        definition.define(
            f"{TOPIC_CREATION}{group}.{name}",
            type,
            defaults[name],
            importance=Importance.LOW,
            validator=LambdaValidator(_check_number, lambda: "-1 or [1,...]"),
            doc=_NUMBER_DOCS[name],
            group=_shown_group(group),
            order_in_group=order,
            width=Width.LONG,
            display_name=f"{_NUMBER_NAMES[name]} for Topics in {_shown_group(group)}",
        )


def _shown_group(group: str) -> str:
    return f"Topic Creation: {group}"


def named_groups(props: Props) -> list[str]:
    """Return the groups that the user named: all but the default group."""
    listed = parse_type(GROUPS, props.get(GROUPS), Type.LIST) or ()
    return [group for group in dict.fromkeys(listed) if group and group != DEFAULT_GROUP]


def _default_number(name: str, props: Props) -> int:
    """Return the default group's number; one that is missing or malformed is reported at that group."""
    property = f"{TOPIC_CREATION}{DEFAULT_GROUP}.{name}"
    try:
        found = parse_type(property, props.get(property), _NUMBERS[name])
        _check_number(property, found)
    except ConfigError:
        return -1
    return -1 if found is None else int(found)


def _group(name: str, parsed: Mapping[str, Any], raw: Mapping[str, str]) -> TopicGroup:
    prefix = f"{TOPIC_CREATION}{name}."
    settings = {key.removeprefix(prefix): text for key, text in raw.items() if key.startswith(prefix) and key != prefix}
    is_default = name == DEFAULT_GROUP
    return TopicGroup(
        name,
        include=(".*",) if is_default else tuple(parsed[prefix + INCLUDE]),
        exclude=() if is_default else tuple(parsed[prefix + _EXCLUDE]),
        partitions=parsed[prefix + _PARTITIONS],
        replication_factor=parsed[prefix + _REPLICATION_FACTOR],
        config={key: text for key, text in settings.items() if key not in _OWN},
    )


def _matches_any(patterns: tuple[str, ...], topic: str) -> bool:
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


def _check_number(name: str, value: int | None) -> None:
    if value is not None and value != -1 and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for the broker's default")


def _check_patterns(name: str, value: list[str] | None) -> None:
    for pattern in value or ():
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError.invalid(name, pattern, f"not a regular expression: {error}") from error
