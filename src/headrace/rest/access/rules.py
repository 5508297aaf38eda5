# SPDX-License-Identifier: Apache-2.0
"""The authorization rules of a YAML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.config.access_config import AUTHORIZATION_FILE
from headrace.plugins.configured_plugins import CLASS, CONVERTERS, steps_of
from headrace.rest.access.authentication import Principal
from headrace.rest.access.operations import Role

_GROUP: Final = "group:"
_KEYS: Final = frozenset({"name", "users", "role", "connectors", "plugins"})
_STEP: Final = re.compile(r"((?:transforms|predicates)\..+)\.type", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """A role of users, for connectors and plugins whose names match (``*`` and ``?``; None: all of them)."""

    name: str
    users: tuple[str, ...]
    role: Role
    connectors: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None

    def is_for(self, principal: Principal) -> bool:
        """Return True if the rule names the user, a group of theirs as ``group:x``, or everybody as ``*``."""
        names = {"*", *(_GROUP + group for group in principal.groups)}
        if not principal.name.startswith(_GROUP):  # a user whose name looks like a group is not in it
            names.add(principal.name)
        return not names.isdisjoint(self.users)

    def covers(self, role: Role, connector: str | None) -> bool:
        """Return True if the rule has the role for the connector; None matches rules of any, except for ``ADMIN``."""
        if role > self.role:
            return False
        if self.connectors is None:
            return True
        return role < Role.ADMIN if connector is None else _matches(connector, self.connectors)

    def allows_plugins(self, plugins: Iterable[str]) -> bool:
        """Return True if the rule allows all the plugins, by their names as written in a configuration."""
        return self.plugins is None or all(_matches(plugin, self.plugins) for plugin in plugins)


@dataclass(frozen=True, slots=True)
class Decision:
    """The name of the rule that allows a request; None if it is refused."""

    rule: str | None

    @property
    def allowed(self) -> bool:
        """True if a rule allows it."""
        return self.rule is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules; a request that none allows is refused."""

    rules: tuple[Rule, ...]

    def decide(
        self, principal: Principal, role: Role, connector: str | None = None, plugins: Iterable[str] = ()
    ) -> Decision:
        """Return the decision; a single rule has to allow both the connector and the plugins."""
        wanted = tuple(plugins)
        for rule in self.rules:
            if rule.is_for(principal) and rule.covers(role, connector) and rule.allows_plugins(wanted):
                return Decision(rule.name)
        return Decision(None)


ALLOW_ALL: Final = Rules((Rule("no rules", ("*",), Role.ADMIN),))
"""The rules where there is no file."""


def plugins_of(config: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the names of classes in a connector's configuration, as written there.

    Unlisted transformations and predicates are included: another request could list them at the same time, and a
    reference to a config provider in a list may name any.
    """
    keys = dict.fromkeys((CLASS, *CONVERTERS, *(f"{step}.type" for step in steps_of(config)), *_unlisted(config)))
    return tuple(value.strip() for key in keys if (value := config.get(key)) is not None)


def _unlisted(config: Mapping[str, str | None]) -> Iterator[str]:
    """Yield each ``transforms.x.type`` that is not a property of a listed step, as ``target.type`` of some is."""
    listed = steps_of(config)
    for key in config:
        if (found := _STEP.fullmatch(key)) and not any(found[1].startswith(f"{step}.") for step in listed):
            yield key


def parse_rules(text: str, file: str) -> Rules:
    """Parse the rules of a YAML text. Raise ConfigError with the wrong rule of ``file`` and the reason."""
    import yaml  # only for workers with rules

    try:
        node = yaml.compose(text, yaml.SafeLoader)
        _check_keys(node, file)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # the latter two: impossible dates, depth
        raise _invalid(file, f"it is not YAML: {error}") from error
    rules = document.get("rules") if isinstance(document, dict) and set(document) == {"rules"} else None
    if not isinstance(rules, list) or not rules:
        raise _invalid(file, "it has to have one key, rules, with a list of at least one rule")
    return Rules(tuple(_rule(rule, number, file) for number, rule in enumerate(rules, 1)))


def _check_keys(node: Any, file: str) -> None:
    """Refuse duplicate keys: the last one would silently win."""
    if node is None or node.id == "scalar":
        return
    if node.id == "sequence":
        for each in node.value:
            _check_keys(each, file)
        return
    keys = [key.value for key, _ in node.value if key.id == "scalar"]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise _invalid(file, f"line {node.start_mark.line + 1}: the key {twice} is there twice")
    for _, value in node.value:
        _check_keys(value, file)


def _rule(rule: Any, number: int, file: str) -> Rule:
    where = f"rule {number}"
    if not isinstance(rule, dict) or not {"users", "role"} <= set(rule) <= _KEYS:
        raise _invalid(file, f"{where} has to have users and role, and may have {', '.join(sorted(_KEYS))} and no more")
    role = str(rule["role"]).upper()
    if role not in Role.__members__:
        raise _invalid(file, f"{where} has the role '{rule['role']}': there are {', '.join(Role.__members__).lower()}")
    users = _names(rule["users"], f"{where}, users", file)
    connectors, plugins = (
        None if rule.get(key) is None else _names(rule[key], f"{where}, {key}", file)
        for key in ("connectors", "plugins")
    )
    return Rule(str(rule.get("name", where)), users, Role[role], connectors, plugins)


def _names(value: Any, where: str, file: str) -> tuple[str, ...]:
    names: Sequence[Any] = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise _invalid(file, f"{where}: a list of names expected; names of digits alone need quotes")
    return tuple(names)


def _invalid(file: str, reason: str) -> ConfigError:
    return ConfigError.invalid(AUTHORIZATION_FILE, file, reason)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    """Match ``*`` and ``?`` only: ``[`` has no special meaning."""
    return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)
