# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from scripts.evidence import EVIDENCE, PAGE, tables, updated


def test_the_readme_shows_the_measurements() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- evidence: (\w+) -->", page)) == set(tables())
    assert updated(page) == page, "run `python -m scripts.evidence`"


def test_other_measurements_make_the_readme_stale(tmp_path: Path) -> None:
    shutil.copytree(EVIDENCE, tmp_path, dirs_exist_ok=True)
    faults = json.loads((EVIDENCE / "faults.json").read_text(encoding="utf-8"))
    (tmp_path / "faults.json").write_text(json.dumps({**faults, "right": False, "problems": 7}), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    assert "**7 problems**" in updated(page, tmp_path) != page
