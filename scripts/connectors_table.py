# SPDX-License-Identifier: Apache-2.0
"""The tables of `docs/connectors.md`: connectors that tests ran, from `docs/evidence/connectors.json`.

`python -m scripts.connectors_table` writes the page; a test fails while it differs from the file. A cell is `yes` only
where the file names a test that shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "connectors.md"
EVIDENCE: Final = _ROOT / "docs" / "evidence" / "connectors.json"
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


def read_evidence(path: Path = EVIDENCE) -> dict[str, Any]:
    """Return the file of what tests have shown."""
    evidence: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return evidence


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
        cells = [_cell(each, column) for column in COLUMNS]
        lines.append(_row([f"`{name}`", each["kind"], f"`{each['artifact']}`", *cells]))
    seen = "Seen on {date} with Kafka Connect {kafka_connect}, Java {java} and Python {python}.".format(**evidence)
    return "\n".join((*lines, "", seen, ""))


def _singer(evidence: Mapping[str, Any]) -> str:
    titles = ("program", "package", *SINGER_COLUMNS.values())
    lines = [_row(titles), _row(["---"] * len(titles))]
    for each in evidence["singer"]:
        cells = [_cell(each, column) for column in SINGER_COLUMNS]
        lines.append(_row([f"`{each['program']}`", f"`{each['package']}`", *cells]))
    failing = [
        f"* `{each['package']}`, {SINGER_COLUMNS[column]}: {reason}"
        for each in evidence["singer"]
        for column, reason in each.get("fails", {}).items()
    ]
    return "\n".join((*lines, "", *failing, ""))


def _cell(connector: Mapping[str, Any], column: str) -> str:
    if column in connector.get("fails", {}):
        return "**no**"
    return "yes" if column in connector["shown_by"] else _NOT_TRIED


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
    for each in (*evidence["connectors"], *evidence["singer"]):
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
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), read_evidence()), encoding="utf-8")
