# SPDX-License-Identifier: Apache-2.0
"""The list of what is in which tier."""

from __future__ import annotations

import pytest

from tests import tiers


def test_what_is_listed_is_there(pytestconfig: pytest.Config) -> None:
    """Else a test that was renamed would leave its tier without a word."""
    assert pytestconfig.stash[tiers.UNKNOWN] == []


def test_a_file_that_is_left_out_has_no_test_of_the_tier(request: pytest.FixtureRequest) -> None:
    """Of all files that are collected in this run, which is none of the second tier, as this file is in the first."""
    for item in request.session.items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & {"slow", "hypothesis"} and "long" not in marks:
            assert not tiers.has_none(item.path, tiers.SECOND_TIER), item.nodeid


def test_the_second_tier_is_selected_by_its_marks(pytestconfig: pytest.Config) -> None:
    makefile = (pytestconfig.rootpath / "Makefile").read_text()
    assert f'-m "{tiers.SECOND_TIER}"' in makefile
    assert tiers.has_none(pytestconfig.rootpath / "tests/unit/test_evidence.py", tiers.SECOND_TIER)
