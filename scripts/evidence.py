# SPDX-License-Identifier: Apache-2.0
"""The tables of measurements and of faults in the README and in the documentation, from the files of `docs/evidence`.

`make evidence` measures, writes these files and the README's tables; a test fails while a page differs from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (_ROOT / "README.md", _ROOT / "docs" / "guide" / "java-plugins.md", _ROOT / "docs" / "scaling.md")
EVIDENCE: Final = _ROOT / "docs" / "evidence"
_BLOCK: Final = re.compile(r"(<!-- evidence: (\w+) -->\n).*?(<!-- end of evidence -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Row:
    key: str
    label: str
    unit: str
    higher_is_better: bool = False
    digits: int = 0


_ROWS: Final = (
    _Row("poll_rate", "FileStreamSource, exactly once, a transaction per poll", "records/s", True),
    _Row("interval_rate", "FileStreamSource, exactly once, a transaction per second", "records/s", True),
    _Row("chain_rate", "the same with transformations and JSON, a transaction per poll", "records/s", True),
    _Row("sink_rate", "FileStreamSink", "records/s", True),
    _Row("line_p99_ms", "line in a file to record in Kafka, 99 of 100 within", "ms", digits=1),
    _Row("first_record_s", "connector created to first record", "s", digits=2),
    _Row("create_p50_ms", "create answered", "ms"),
    _Row("pause_p50_ms", "pause answered", "ms"),
    _Row("pause_done_p50_ms", "pause in effect", "ms"),
    _Row("idle_cpu_s_per_min", "ten idle connectors, CPU", "s/min", digits=1),
    _Row("idle_pss_mb", "ten idle connectors, memory (PSS)", "MB"),
)

_JAVA_PLUGINS: Final = (
    _Row("java_file", "FileStreamSource of Java, a transaction per poll", "records/s", True),
    _Row("java_mirror", "MirrorSource", "records/s", True),
    _Row("java_snapshot", "Debezium PostgreSQL, snapshot", "records/s", True),
    _Row("java_stream", "Debezium PostgreSQL, changes", "records/s", True),
    _Row("java_jdbc_sink", "Debezium JDBC sink", "records/s", True),
    _Row("java_first_record_s", "connector created to first record", "s", digits=2),
    _Row("java_task_mb", "an idle connector with its task, memory (PSS)", "MB"),
)


def tables(evidence: Path = EVIDENCE) -> Mapping[str, str]:
    """Return the Markdown of each block by its name in the pages."""
    return {
        "bench": _bench(_content(evidence / "bench.json"), _ROWS),
        "java_plugins": _bench(_content(evidence / "java-plugins.json"), _JAVA_PLUGINS),
        "faults": _faults(_content(evidence / "faults.json")),
        "soak": _soak(evidence / "soak.json"),
    }


def updated(page: str, evidence: Path = EVIDENCE) -> str:
    """Return the page's text with each marked block as the files say it."""
    known = tables(evidence)
    return _BLOCK.sub(lambda block: f"{block[1]}\n{known[block[2]]}\n{block[3]}", page)


def _content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _bench(results: Mapping[str, Any], rows: Sequence[_Row]) -> str:
    """The best of the rounds of each side: Java's JIT is warm by then."""
    java, ours, conditions = results["figures"]["java"], results["figures"]["headrace"], results["conditions"]
    lines = ["| best of {} rounds | Java Connect | headrace | ratio |".format(results["rounds"]), "|---|---|---|---|"]
    for row in rows:
        best = max if row.higher_is_better else min
        theirs, mine = best(java[row.key]), best(ours[row.key])
        ratio = mine / theirs if row.higher_is_better else theirs / mine
        cells = (f"{row.label}, {row.unit}", _shown(theirs, row), _shown(mine, row), f"{ratio:.2f}×")
        lines.append(f"| {' | '.join(cells)} |")
    machine = (
        f"{results['lines']:,} lines of 100 bytes; Kafka Connect {conditions['kafka_connect']}, "
        f"Spark {conditions['spark']}, Python {conditions['python']}; {conditions['cores']} cores of "
        f"{conditions['processor']}, {conditions['memory_gib']} GiB, {conditions['date']}. "
        "A ratio above 1 is in headrace's favour."
    )
    return "\n".join((*lines, "", machine, ""))


def _faults(counts: Mapping[str, Any]) -> str:
    lines = ["| fault | times |", "|---|---|"]
    lines += [f"| {kind} | {times} |" for kind, times in counts["faults"].items()]
    verdict = "each of them once, none missing" if counts["right"] else f"**{counts['problems']} problems**"
    summary = (
        f"{sum(counts['faults'].values())} faults in {counts['seconds']:g} s on {counts['workers']} workers: "
        f"{counts['records']:,} records in {counts['committed']:,} transactions, {verdict}. "
        f"`make faults SECONDS={counts['seconds']:g} SEED={counts['seed']}` repeats them."
    )
    return "\n".join((*lines, "", summary, ""))


def _soak(file: Path) -> str:
    if not file.exists():
        return "`python -m soak --json docs/evidence/soak.json` has not been run yet.\n"
    run = json.loads(file.read_text(encoding="utf-8"))
    lines = ["| | at first | growth | tolerance |", "|---|---|---|---|"]
    for name, growth in run["growth"].items():
        amount = "not measured" if growth["amount"] is None else f"{growth['amount']:+,.1f}"
        label = f"{name.replace('_', ' ')}{growth['unit'] and ', '}{growth['unit']}"
        lines.append(f"| {label} | {growth['level']:,.1f} | {amount} | {growth['tolerance']:,.1f} |")
    verdict = "Nothing grows" if run["right"] else "**Not right**"
    summary = (
        f"{verdict}: {run['hours']:g} hours on {run['workers']} workers, {sum(run['faults'].values()):,} faults, "
        f"{sum(run['operations'].values()):,} operations, {run['records']:,} records "
        f"in {run['committed']:,} transactions, "
        + (f"{len(run['problems'])} problems." if run["problems"] else "each of them once, none missing.")
    )
    return "\n".join((*lines, "", summary, ""))


def _shown(value: float, row: _Row) -> str:
    return f"{value:,.{row.digits}f}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
