# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from scripts.evidence import EVIDENCE, PAGES, tables, updated


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
