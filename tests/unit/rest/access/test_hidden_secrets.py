# SPDX-License-Identifier: Apache-2.0
"""Secrets of a configuration, by definition, name or shape, and that no text shows them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.api.error_text import LONGEST, clean_text
from headrace.api.errors import ConnectError
from headrace.herder.config_infos import ConfigKeyInfo
from headrace.plugins.secret_texts import HIDDEN, secrets_of
from headrace.rest.access.access import Access
from headrace.rest.access.authentication import Principal
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.access.rules import parse_rules
from headrace.rest.herder_request_handler import RequestHandler

RULES = parse_rules("rules: [{users: vera, role: viewer}, {users: emil, role: editor}]", "f")
ENTRANCE = ConfigKeyInfo("entrance", "PASSWORD", False, None, "LOW", "", None, -1, "NONE", "entrance", ())
CONFIG = {
    "connector.class": "Door",
    "entrance": "swordfish",
    "transforms": "t",
    "transforms.t.type": "Door",
    "transforms.t.entrance": "halibut",
    "url": "jdbc:x://anna:dog/fish@h/db",
}


def shown(herder: Any, user: str, answer: Any, config: dict[str, str | None] | None = None) -> Any:
    herder = type(herder)()
    herder.configs = {"c": {**CONFIG, **(config or {})}}
    found = herder._answer((ENTRANCE,))
    herder.connector_plugin_config = lambda plugin: found if plugin == "Door" else herder._answer(ConnectError(plugin))
    access = Access(Principal(user), RULES, lambda *noted: None)
    return asyncio.run(HiddenSecrets(herder, RequestHandler(herder, 1)).mask(access, "c", answer))


def test_properties_of_type_password_are_hidden_whatever_they_are_called(herder: Any) -> None:
    answer = {"name": "c", "config": CONFIG, "tasks": [{"config": {"copy": "swordfish", "n": None}}]}
    seen = shown(herder, "vera", answer)
    hidden = {"entrance": HIDDEN, "transforms.t.entrance": HIDDEN, "url": HIDDEN}
    assert seen == {"name": "c", "config": {**CONFIG, **hidden}, "tasks": [{"config": {"copy": HIDDEN, "n": None}}]}
    assert shown(herder, "emil", answer) == answer


def test_a_plugin_that_is_broken_is_asked_once_a_minute(herder: Any) -> None:
    herder, asked, now = type(herder)(), [], [100.0]
    herder.configs = {"c": CONFIG}
    herder.connector_plugin_config = lambda plugin: asked.append(plugin) or herder._answer(ConnectError("broken"))
    hidden = HiddenSecrets(herder, RequestHandler(herder, 1), lambda: now[0])
    access = Access(Principal("vera"), RULES, lambda *noted: None)
    for seconds, times in ((0, 1), (59, 1), (1, 2)):
        now[0] += seconds
        assert asyncio.run(hidden.mask(access, "c", {"config": CONFIG}))["config"]["url"] == HIDDEN
        assert asked == ["Door"] * times


def test_a_trace_shows_no_secret_of_a_config_provider(herder: Any) -> None:
    seen = shown(herder, "vera", {"trace": "at jdbc:x://h/d?user=a&password=halibut&x=1: halibut"}, {"url": "${f:a:b}"})
    assert seen == {"trace": "at jdbc:x://h/d?user=a&password=[hidden]&x=1: [hidden]"}


@pytest.mark.parametrize("longest", [300, 2_000, LONGEST])
@pytest.mark.parametrize("left", range(4, len("swordfish")))
def test_an_error_that_was_cut_inside_a_secret_shows_nothing_of_it(herder: Any, longest: int, left: int) -> None:
    before, after = "x" * (longest // 2 - left), "y" * longest
    for text in (f"{before}swordfish{after}", f"{after}swordfish{before}"):
        seen = shown(herder, "vera", {"message": clean_text(text, longest)})["message"]
        assert HIDDEN in seen and not any("swordfish"[at : at + 4] in seen for at in range(6))


def test_a_trace_shows_no_secret(herder: Any) -> None:
    trace = "Cannot log in at jdbc:x://anna:dog/fish@h/db: swordfish, halibut, dog/fish\n  at login"
    seen = shown(herder, "vera", [{"id": 0, "trace": trace}])[0]["trace"]
    assert not any(secret in seen for secret in ("swordfish", "halibut", "fish"))
    assert seen.startswith("Cannot log in at ") and seen.endswith("\n  at login")


@pytest.mark.parametrize(
    ("name", "text", "secret"),
    [
        ("myApiKey", "abcd1234", "abcd1234"),
        ("aws.secret.access.key", "abcd1234", "abcd1234"),
        ("http.headers.authorization", "Bearer abcd1234", "abcd1234"),
        ("header", "Basic abcd1234", "abcd1234"),
        ("db_pwd", "abcd1234", "abcd1234"),
        ("hub", "Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=abcd1234", "abcd1234"),
        ("options", 'Module required password="abcd1234";', "abcd1234"),
        ("url", "jdbc:x://h/db?user=a&password=abcd1234", "abcd1234"),
        ("url", "mongodb://anna:abcd@1234@h", "abcd@1234"),
        ("pem", "-----BEGIN PRIVATE KEY-----\nabcd1234\n-----END PRIVATE KEY-----", "abcd1234"),
        ("transforms.q.table.t", "format:jdbc,url:jdbc:x://h/db,user:a,password:abcd1234", "abcd1234"),
        ("mixed", "${file:/a:b}password=abcd1234${file:/a:b}", "abcd1234${file:/a:b}"),
    ],
)
def test_secrets_by_name_and_by_shape(name: str, text: str, secret: str) -> None:
    assert secret in secrets_of({name: text}, frozenset())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topic", "payments"),
        ("key.converter", "StringConverter"),
        ("url", "https://example.org/a:b"),
        ("db.password", "${file:/f:password}"),
        ("db.password", "${env:A}${env:B}"),
        ("url", "jdbc:x://${env:U}:${file:/f:p}@h/db?password=${file:/f:p}&x=1"),
        ("options", 'Module required password="${file:/f:p}";'),
        ("db.password", "abc"),
        ("db.password", None),
    ],
)
def test_what_is_no_secret(name: str, text: str | None) -> None:
    assert secrets_of({name: text}, frozenset()) == []
