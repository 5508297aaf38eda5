# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.java.versions import version_key


def test_the_order() -> None:
    ordered = ["1", "2.0-alpha-1", "2.0.0.Alpha2", "2.0.0.Beta1", "2.0.0.CR1", "2-SNAPSHOT", "2.0.0.Final", "2.0.0.sp1",
               "2.0.1", "2.2", "2.10", "10"]  # fmt: skip
    assert sorted(reversed(ordered), key=version_key) == ordered


@pytest.mark.parametrize(("one", "other"), [("2", "2.0.0"), ("3.3.1.Final", "3.3.1"), ("1.0-RC1", "1.0.0.CR1")])
def test_the_same(one: str, other: str) -> None:
    assert (version_key(one) == version_key(other)) is ("RC" not in one)
