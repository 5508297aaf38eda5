# SPDX-License-Identifier: Apache-2.0
"""`docs/connectors.md` says what tests show, and nothing else."""

from __future__ import annotations

import copy
import re

import pytest

from scripts.connectors_table import COLUMNS, PAGE, SINGER_COLUMNS, read_evidence, updated
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


@pytest.mark.parametrize(
    "connector",
    (*EVIDENCE["connectors"], *EVIDENCE["singer"]),
    ids=lambda each: str(each.get("class") or each["package"]),
)
def test_each_cell_has_a_test(connector: dict[str, dict[str, str]]) -> None:
    columns = COLUMNS if "class" in connector else SINGER_COLUMNS
    assert connector["shown_by"].keys() | connector.get("fails", {}).keys() <= columns.keys()
    assert not connector["shown_by"].keys() & connector.get("fails", {}).keys()
    for test in connector["shown_by"].values():
        file, _, function = test.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE), test


def test_the_versions_are_those_of_the_tests() -> None:
    tried = {each["class"]: (each["artifact"], each["kind"]) for each in EVIDENCE["connectors"]}
    expected = {known.class_name: (known.coordinate, known.kind.value) for known in KNOWN}
    assert expected.items() <= tried.items()
