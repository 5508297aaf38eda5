# SPDX-License-Identifier: Apache-2.0
"""`make screenshots` on a real worker, and what it takes for a difference."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts.console_screenshots import IMAGES, MOST_BYTES, MOST_DIFFERENT, compared, names, take
from tests.console.browser import found_chromium
from tests.support.debian import or_skip

pytestmark = pytest.mark.timeout(300)


def test_all_screens_are_taken_and_another_one_is_noticed(tmp_path: Path) -> None:
    or_skip(found_chromium)
    taken, other = tmp_path / "taken", tmp_path / "other"
    taken.mkdir()
    take(taken, values=0)
    assert sorted(path.name for path in taken.iterdir()) == sorted(names())
    assert len(names()) == 12
    assert all(1000 < path.stat().st_size <= MOST_BYTES for path in taken.iterdir())
    shutil.copytree(taken, other)
    assert set(compared(taken, other).values()) == {0.0}
    wrong, missing, *right = names()
    shutil.copy(other / right[0], other / wrong)
    (other / missing).unlink()
    found = compared(taken, other)
    assert found.pop(wrong) > MOST_DIFFERENT and found.pop(missing) == 1.0
    assert set(found.values()) == {0.0}


def test_the_docs_have_all_images() -> None:
    assert sorted(path.name for path in IMAGES.glob("console-*.png")) == sorted(names())
