# SPDX-License-Identifier: Apache-2.0
"""When the keys of an issuer of tokens are fetched, and how long they are good."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.rest.access.authentication import RefusedCredentialsError, UndecidedCredentialsError
from headrace.rest.access.bearer_tokens import IssuerKeys, KeysUnavailableError


class FakeIssuer:
    def __init__(self) -> None:
        self.now = 1000.0
        self.has: dict[str, Any] = {"one": 1}
        self.away = False
        self.asked = 0
        self.keys = IssuerKeys(self.fetch, lambda: self.now)

    def fetch(self) -> dict[str, Any]:
        self.asked += 1
        if self.away:
            raise KeysUnavailableError("no answer")
        return dict(self.has)


@pytest.fixture
def issuer() -> FakeIssuer:
    return FakeIssuer()


def test_a_key_that_is_withdrawn_is_good_no_longer(issuer: FakeIssuer) -> None:
    assert issuer.keys.key("one") == 1
    issuer.has = {"two": 2}
    issuer.now += 299
    assert issuer.keys.key("one") == 1
    issuer.now += 2
    with pytest.raises(RefusedCredentialsError, match="which the issuer does not have"):
        issuer.keys.key("one")
    assert issuer.keys.key("two") == 2


def test_a_new_key_is_good_within_half_a_minute(issuer: FakeIssuer) -> None:
    issuer.keys.key("one")
    issuer.has = {"one": 1, "two": 2}
    with pytest.raises(RefusedCredentialsError):
        issuer.keys.key("two")
    issuer.now += 30
    assert issuer.keys.key("two") == 2


@pytest.mark.parametrize("away", [False, True])
def test_a_thousand_unknown_keys_make_no_thousand_questions(issuer: FakeIssuer, away: bool) -> None:
    issuer.away = away
    for number in range(1000):
        with pytest.raises(RefusedCredentialsError):
            issuer.keys.key(f"{number}")
    assert issuer.asked == 1


def test_keys_are_good_for_an_hour_where_the_issuer_does_not_answer(issuer: FakeIssuer) -> None:
    issuer.keys.key("one")
    issuer.away = True
    issuer.now += 3599
    assert issuer.keys.key("one") == 1
    issuer.now += 31
    with pytest.raises(UndecidedCredentialsError):
        issuer.keys.key("one")
    issuer.away = False
    issuer.now += 31
    assert issuer.keys.key("one") == 1


def test_a_token_may_not_leave_its_key_out(issuer: FakeIssuer) -> None:
    with pytest.raises(RefusedCredentialsError):
        issuer.keys.key(None)
