# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/connectors.md`: connectors that tests ran.

`docs/evidence/connectors.json` names the test of each cell, and `connectors-tests.json` beside it has the outcomes of
their last run. A cell is `yes` only where its test has passed. `make connectors` runs the tests and writes the outcomes
and the page; a test fails while the page differs from the files.
"""

from __future__ import annotations

import datetime
import json
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from headrace import KAFKA_VERSION
from headrace.jvm.java_runtime import find_java

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "connectors.md"
EVIDENCE: Final = _ROOT / "docs" / "evidence" / "connectors.json"
OUTCOMES: Final = EVIDENCE.with_name("connectors-tests.json")
PASSED: Final = "passed"
_BLOCK: Final = re.compile(r"(<!-- connectors: (\w+) -->\n).*?(<!-- end of connectors -->)", re.DOTALL)
COLUMNS: Final[dict[str, str]] = {
    "found": "found",
    "properties": "properties",
    "validated": "validated",
    "run": "run",
    "exactly_once": "exactly once",
    "offsets": "offsets",
    "dead_letters": "dead letters",
    "preview": "preview",
}
"""What a test may show of a Java connector, with the title of its column."""
SINGER_COLUMNS: Final[dict[str, str]] = {"run": "run", "offsets": "offsets", "killed": "killed"}
"""What a test may show of a tap or target."""
_NOT_TRIED: Final = ""


def read_evidence() -> dict[str, Any]:
    """Return which tests show what, with their outcomes as `ran`."""
    evidence: dict[str, Any] = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    return {**evidence, "ran": json.loads(OUTCOMES.read_text(encoding="utf-8"))}


def pinned_package(name: str) -> str:
    """Return the package of a tap or target with the version that the page shows, as `tap-x==1.2`."""
    singer = json.loads(EVIDENCE.read_text(encoding="utf-8"))["singer"]
    return str(next(each["package"] for each in singer if each["package"].startswith(f"{name}==")))


def tests(evidence: Mapping[str, Any]) -> list[str]:
    """Return the tests of all cells, as pytest takes them."""
    return sorted({test for each in _entries(evidence) for test in each["shown_by"].values()})


def outcome(evidence: Mapping[str, Any], connector: Mapping[str, Any], column: str) -> str | None:
    """Return the outcome of a cell's test: of those with parameters, that of the connector, or else one for all."""
    test = connector["shown_by"][column]
    found = {name: each for name, each in evidence["ran"]["outcomes"].items() if name.partition("[")[0] == test}
    own = [found[f"{test}[{name}]"] for name in _names(connector) if f"{test}[{name}]" in found]
    outcomes = own[:1] or list(found.values())
    return next((each for each in outcomes if each != PASSED), PASSED) if outcomes else None


def read_outcomes(results: Path) -> dict[str, str]:
    """Return the outcomes of pytest's JUnit file by the names of tests: passed, skipped, failure or error."""
    outcomes = {}
    for case in ElementTree.parse(results).iter("testcase"):
        name = f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"
        other = (each.tag for each in case if each.tag in ("skipped", "failure", "error"))
        outcomes[name] = next(other, PASSED)
    return outcomes


def record(results: Path) -> None:
    """Write the outcomes of the cells' tests in a run of today, with what it ran on."""
    java, named = find_java(), tests(json.loads(EVIDENCE.read_text(encoding="utf-8")))
    outcomes = {name: each for name, each in read_outcomes(results).items() if name.partition("[")[0] in named}
    ran = {
        "date": datetime.date.today().isoformat(),
        "kafka_connect": KAFKA_VERSION,
        "java": str(java.major),
        "python": platform.python_version(),
        "outcomes": dict(sorted(outcomes.items())),
    }
    OUTCOMES.write_text(json.dumps(ran, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _entries(evidence: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (*evidence["connectors"], *evidence["singer"])


def _names(connector: Mapping[str, Any]) -> Sequence[str]:
    """Return the names that a parameter of a test may have for a connector."""
    if "class" in connector:
        return (connector["class"].rpartition(".")[2],)
    return (connector["package"].partition("==")[0], connector["program"])


def updated(page: str, evidence: Mapping[str, Any]) -> str:
    """Return the page's text with its marked blocks as the file says it."""
    blocks = {
        "table": _table(evidence),
        "failing": _failing(evidence),
        "singer": _singer(evidence),
        "tests": _tests(evidence),
    }
    return _BLOCK.sub(lambda block: f"{block[1]}\n{blocks[block[2]]}\n{block[3]}", page)


def _table(evidence: Mapping[str, Any]) -> str:
    titles = ("connector", "kind", "artifact", *COLUMNS.values())
    lines = [_row(titles), _row(["---"] * len(titles))]
    for each in evidence["connectors"]:
        name = each["class"].rpartition(".")[2]
        cells = [_cell(evidence, each, column) for column in COLUMNS]
        lines.append(_row([f"`{name}`", each["kind"], f"`{each['artifact']}`", *cells]))
    seen = "Seen on {date} with Kafka Connect {kafka_connect}, Java {java} and Python {python}.".format(
        **evidence["ran"]
    )
    return "\n".join((*lines, "", seen, ""))


def _singer(evidence: Mapping[str, Any]) -> str:
    titles = ("program", "package", *SINGER_COLUMNS.values())
    lines = [_row(titles), _row(["---"] * len(titles))]
    for each in evidence["singer"]:
        cells = [_cell(evidence, each, column) for column in SINGER_COLUMNS]
        lines.append(_row([f"`{each['program']}`", f"`{each['package']}`", *cells]))
    failing = [
        f"* `{each['package']}`, {SINGER_COLUMNS[column]}: {reason}"
        for each in evidence["singer"]
        for column, reason in each.get("fails", {}).items()
    ]
    return "\n".join((*lines, "", *failing, ""))


def _cell(evidence: Mapping[str, Any], connector: Mapping[str, Any], column: str) -> str:
    if column in connector.get("fails", {}):
        return "**no**"
    if column not in connector["shown_by"]:
        return _NOT_TRIED
    seen = outcome(evidence, connector, column)
    return "yes" if seen == PASSED else seen or "not run"


def _failing(evidence: Mapping[str, Any]) -> str:
    """List what does not work, and what there is to know of an artifact."""
    lines = []
    for each in evidence["connectors"]:
        name = each["class"].rpartition(".")[2]
        lines += [f"* `{name}`, {COLUMNS[column]}: {reason}" for column, reason in each.get("fails", {}).items()]
        lines += [f"* `{name}`: {each['note']}"] if "note" in each else []
    return "\n".join((*(lines or ["Nothing that was tried."]), ""))


def _tests(evidence: Mapping[str, Any]) -> str:
    shown: dict[str, dict[str, None]] = {}
    for each in _entries(evidence):
        for column, test in each["shown_by"].items():
            shown.setdefault(test, {})[(COLUMNS | SINGER_COLUMNS)[column]] = None
    lines = [_row(("test", "shows")), _row(("---", "---"))]
    for test, columns in sorted(shown.items()):
        file, _, function = test.partition("::")
        lines.append(_row((f"[`{function}`](../{file})", ", ".join(columns))))
    return "\n".join((*lines, ""))


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--tests"]:
            print(*tests(json.loads(EVIDENCE.read_text(encoding="utf-8"))))
            sys.exit()
        case ["--record", results]:
            record(Path(results))
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), read_evidence()), encoding="utf-8")
