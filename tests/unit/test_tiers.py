# SPDX-License-Identifier: Apache-2.0
"""The list of what is in which tier."""

from __future__ import annotations

import pytest

from tests import tiers


def test_what_is_listed_is_there(pytestconfig: pytest.Config) -> None:
    """Else a test that was renamed would leave its tier without a word."""
    assert pytestconfig.stash[tiers.UNKNOWN] == []
