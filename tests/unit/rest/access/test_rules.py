# SPDX-License-Identifier: Apache-2.0
"""Who may do what: roles of requests, rules, and files of them."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.herder.errors import BadRequestError
from headrace.rest.access.authentication import ANONYMOUS, Principal
from headrace.rest.access.operations import Operation, Role, operation
from headrace.rest.access.rules import ALLOW_ALL, Rules, parse_rules, plugins_of

RULES = """
rules:
  - {name: platform, users: ["group:platform"], role: admin}
  - {users: ["*"], role: viewer, connectors: ["public-*"]}
  - users: [carol, "group:payments"]
    role: editor
    connectors: ["payments-*"]
    plugins: ["FileStream*", "StringConverter"]
  - {users: dave, role: operator}
"""
ROOT, CAROL, DAVE = Principal("root", frozenset({"platform"})), Principal("carol"), Principal("dave")


@pytest.fixture
def rules() -> Rules:
    return parse_rules(RULES, "f.yaml")


@pytest.mark.parametrize(
    ("method", "path", "role", "connector"),
    [
        ("GET", "/", Role.VIEWER, None),
        ("GET", "/connectors", Role.VIEWER, None),
        ("HEAD", "/connectors/a%2Fb/status", Role.VIEWER, "a/b"),
        ("GET", "/connectors/c/offsets/", Role.OPERATOR, "c"),
        ("PUT", "/connectors/c/pause", Role.OPERATOR, "c"),
        ("POST", "/connectors/c/tasks/0/restart", Role.OPERATOR, "c"),
        ("PUT", "/connectors/c/topics/reset", Role.OPERATOR, "c"),
        ("POST", "/connectors", Role.EDITOR, None),
        ("PATCH", "/connectors/c/offsets", Role.EDITOR, "c"),
        ("DELETE", "/connectors/c", Role.EDITOR, "c"),
        ("PUT", "/connectors/c/unheard/of", Role.EDITOR, "c"),
        ("PUT", "/connector-plugins/x/config/validate", Role.EDITOR, None),
        ("GET", "/admin/loggers", Role.ADMIN, None),
        ("POST", "/something/new", Role.ADMIN, None),
    ],
)
def test_what_a_request_takes(method: str, path: str, role: Role, connector: str | None) -> None:
    assert operation(method, path) == Operation(role, connector)


def test_a_name_that_is_no_text_is_a_bad_request() -> None:
    with pytest.raises(BadRequestError):
        operation("GET", "/connectors/%FF")


def test_what_no_rule_allows_is_refused(rules: Rules) -> None:
    assert rules.decide(ROOT, Role.ADMIN).rule == "platform"
    assert rules.decide(CAROL, Role.EDITOR, "payments-1").rule == "rule 3"
    assert rules.decide(CAROL, Role.VIEWER, "public-1").rule == "rule 2"
    assert not rules.decide(CAROL, Role.EDITOR, "public-1").allowed
    assert not rules.decide(CAROL, Role.VIEWER, "orders").allowed
    assert not rules.decide(ANONYMOUS, Role.OPERATOR, "public-1").allowed
    assert rules.decide(DAVE, Role.OPERATOR, "orders").allowed
    assert ALLOW_ALL.decide(ANONYMOUS, Role.ADMIN).allowed


def test_a_user_who_is_called_as_a_group_is_not_in_it(rules: Rules) -> None:
    assert not rules.decide(Principal("group:platform"), Role.ADMIN).allowed
    assert rules.decide(Principal("group:platform"), Role.VIEWER, "public-1").rule == "rule 2"


def test_a_bracket_in_a_pattern_is_a_letter() -> None:
    rules = parse_rules('rules: [{users: eve, role: editor, connectors: ["team[a-z]-*", "[!x]*"]}]', "f")
    eve = Principal("eve")
    assert rules.decide(eve, Role.EDITOR, "team[a-z]-1").allowed
    for other in ("teamb-1", "orders", "team[a-z]", "my-team[a-z]-1", "Team[a-z]-1"):
        assert not rules.decide(eve, Role.EDITOR, other).allowed, other


def test_where_no_connector_is_named_rules_of_some_count_but_not_for_admins() -> None:
    rules = parse_rules('rules: [{users: eve, role: admin, connectors: ["e-*"]}]', "f")
    eve = Principal("eve")
    assert rules.decide(eve, Role.EDITOR).allowed
    assert not rules.decide(eve, Role.ADMIN).allowed


def test_all_plugins_of_a_configuration_have_to_be_allowed_by_one_rule(rules: Rules) -> None:
    config = {"connector.class": " FileStreamSource ", "key.converter": "StringConverter", "transforms": "a, b"}
    assert plugins_of(config) == ("FileStreamSource", "StringConverter")
    assert rules.decide(CAROL, Role.EDITOR, "payments-1", plugins_of(config)).allowed
    for sql in (
        {**config, "transforms.b.type": "SparkSql"},
        {**config, "transforms.later.type": "SparkSql"},
        {"connector.class": "FileStreamSource", "transforms.later.type": "SparkSql"},
        {**config, "transforms": "${env:LANG}", "transforms.C.UTF-8.type": "SparkSql"},
        {**config, "predicates.p.type": "SparkSql"},
    ):
        assert plugins_of(sql)[-1] == "SparkSql"
        assert not rules.decide(CAROL, Role.EDITOR, "payments-1", plugins_of(sql)).allowed, sql


def test_a_property_of_a_step_is_no_class() -> None:
    config = {"transforms": "ts", "transforms.ts.type": "TimestampConverter", "transforms.ts.target.type": "string"}
    assert plugins_of(config) == ("TimestampConverter",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "one key, rules"),
        ("rules: []", "at least one rule"),
        ("a: [", "not YAML"),
        ("{rules: [{users: a, role: viewer}], more: 1}", "one key, rules"),
        ("rules: [{users: a}]", "rule 1 has to have users and role"),
        ("rules: [{users: a, role: viewer}, {users: a, role: viewer, plugin: x}]", "rule 2 has to have"),
        ("rules: [{users: a, role: king}]", "role 'king': there are viewer, operator, editor, admin"),
        ("rules: [{users: [1], role: viewer}]", "rule 1, users: a list of names expected"),
        ("rules: [{users: a, role: viewer, connectors: []}]", "rule 1, connectors"),
        ("rules: !!python/object/apply:os.system [id]", "not YAML"),
        ("rules: [{users: a, role: 2026-13-45}]", "not YAML"),
        ("rules: [{users: a, role: viewer, role: admin}]", "line 1: the key role is there twice"),
        ("rules: [{users: a, role: viewer}]\nrules: [{users: a, role: admin}]", "the key rules is there twice"),
        ("rules: &a [*a]", "not YAML"),
        ("[" * 5000, "not YAML"),
    ],
)
def test_mistakes_name_the_rule(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_rules(text, "f.yaml")
    assert "rest.authorization.file" in str(caught.value) and "f.yaml" in str(caught.value)
