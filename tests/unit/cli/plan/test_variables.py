# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.plan.desired_connectors import Resolved, escape, resolve, variable_name


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("$(A)-$(B)", Resolved("1-$(A)", frozenset("AB"))),
        ("$(C)$(A)", Resolved("$(C)1", frozenset("A"), frozenset("C"))),
        ("$$(A) $$$(A)", Resolved("$(A) $$(A)")),
        ("${env:A} $A $() $(a b) $1", Resolved("${env:A} $A $() $(a b) $1")),
    ],
)
def test_resolve(text: str, resolved: Resolved) -> None:
    assert resolve(text, {"A": "1", "B": "$(A)"}) == resolved


@given(st.text("$(A){} "))
def test_escaped_texts_stay_as_they_are(text: str) -> None:
    assert resolve(escape(text), {"A": "1"}).text == text


def test_names() -> None:
    assert variable_name("orders-2", "database.password") == "ORDERS_2_DATABASE_PASSWORD"
    assert variable_name("2", "ä") == "_2"
