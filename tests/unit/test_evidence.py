# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import shutil
import statistics
from pathlib import Path
from typing import Any, Final

import pytest

from bench.report import ROWS
from scripts.evidence import EVIDENCE, PAGES, tables, updated

SIDES: Final = ("java", "headrace")


@pytest.mark.parametrize("of_rounds", [statistics.median, "best"], ids=["median", "best"])
def test_java_plugins_meet_their_targets(of_rounds: Any) -> None:
    """By medians, as `python -m bench --only java-plugins --strict` decides, and by what the page shows."""
    figures = json.loads((EVIDENCE / "java-plugins.json").read_text(encoding="utf-8"))["figures"]
    judged = [row for row in ROWS if row.key.startswith("java_") and row.target is not None]
    assert len(judged) == 6
    for row in judged:
        best = max if row.better == "higher" else min
        java, ours = ((best if of_rounds == "best" else of_rounds)(figures[side][row.key]) for side in SIDES)
        assert row.target is not None and row.target.met(java, ours), row.label


def test_pages_show_the_measurements() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    assert set(re.findall(r"<!-- evidence: (\w+) -->", "".join(pages))) == set(tables())
    assert [updated(page) for page in pages] == pages, "run `python -m scripts.evidence`"


def test_other_measurements_make_the_readme_stale(tmp_path: Path) -> None:
    shutil.copytree(EVIDENCE, tmp_path, dirs_exist_ok=True)
    faults = json.loads((EVIDENCE / "faults.json").read_text(encoding="utf-8"))
    (tmp_path / "faults.json").write_text(json.dumps({**faults, "right": False, "problems": 7}), encoding="utf-8")
    page = PAGES[0].read_text(encoding="utf-8")
    assert "**7 problems**" in updated(page, tmp_path) != page
