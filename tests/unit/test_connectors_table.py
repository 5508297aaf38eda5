# SPDX-License-Identifier: Apache-2.0
"""`docs/connectors.md` says what tests show, and nothing else."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

from scripts.connectors_table import (
    COLUMNS,
    PAGE,
    PASSED,
    SINGER_COLUMNS,
    outcome,
    read_evidence,
    read_outcomes,
    updated,
)
from tests.java.known_connectors import KNOWN
from tests.unit.test_repository import ROOT

EVIDENCE = read_evidence()


def test_the_page_shows_the_file() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert updated(page, EVIDENCE) == page, "run `python -m scripts.connectors_table`"


def test_another_outcome_makes_the_page_stale() -> None:
    page, changed = PAGE.read_text(encoding="utf-8"), copy.deepcopy(EVIDENCE)
    changed["connectors"][0]["fails"] = {"run": "it ends at once"}
    assert "it ends at once" in updated(page, changed) != page


@pytest.mark.parametrize("seen", ["skipped", "failure", None])
def test_a_cell_whose_test_has_not_passed_is_not_yes(seen: str | None) -> None:
    changed = copy.deepcopy(EVIDENCE)
    name = "tests/java/test_known_plugins.py::test_it_is_found[MySqlConnector]"
    if seen is None:
        changed["connectors"][1]["shown_by"]["found"] = "tests/java/test_known_plugins.py::test_that_is_new"
    else:
        changed["ran"]["outcomes"][name] = seen
    row = next(line for line in updated(PAGE.read_text(encoding="utf-8"), changed).splitlines() if "`MySql" in line)
    assert row.split(" | ")[3] == (seen or "not run")


def test_the_outcomes_of_a_run(tmp_path: Path) -> None:
    cases = '<testcase classname="tests.a.test_b" name="test_c[d]"/>', '<testcase classname="tests.e" name="test_f">'
    (tmp_path / "r.xml").write_text(f"<testsuites>{cases[0]}{cases[1]}<skipped/></testcase></testsuites>")
    assert read_outcomes(tmp_path / "r.xml") == {
        "tests/a/test_b.py::test_c[d]": PASSED,
        "tests/e.py::test_f": "skipped",
    }


@pytest.mark.parametrize(
    "connector",
    (*EVIDENCE["connectors"], *EVIDENCE["singer"]),
    ids=lambda each: str(each.get("class") or each["package"]),
)
def test_each_cell_has_a_test(connector: dict[str, dict[str, str]]) -> None:
    columns = COLUMNS if "class" in connector else SINGER_COLUMNS
    assert connector["shown_by"].keys() | connector.get("fails", {}).keys() <= columns.keys()
    assert connector["shown_by"].keys() >= connector.get("fails", {}).keys()
    for column, test in connector["shown_by"].items():
        file, _, function = test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE), test
        assert outcome(EVIDENCE, connector, column) == PASSED, "run `make connectors`"


def test_the_versions_are_those_of_the_tests() -> None:
    tried = {each["class"]: (each["artifact"], each["kind"]) for each in EVIDENCE["connectors"]}
    expected = {known.class_name: (known.coordinate, known.kind.value) for known in KNOWN}
    assert expected.items() <= tried.items()
