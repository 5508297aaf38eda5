# SPDX-License-Identifier: Apache-2.0
"""A preview as lines of text: each record with what every step changed. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.cli.ctl.statuses import counted

Json = Mapping[str, Any]
ADDED: Final = "green"
REMOVED: Final = "red"
CHANGED: Final = "yellow"
BAD: Final = "red"
TITLE: Final = "bold"
_LONGEST: Final = 400
"""Characters of one value in a line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and the style that it has on a terminal."""

    text: str
    style: str = ""


def preview_lines(preview: Json) -> Iterator[Line]:
    """Yield the lines of an answer."""
    for number, record in enumerate(preview["records"], 1):
        yield from _record(number, record)
    for plan in preview.get("plans", ()):
        yield Line(f"Plan of {plan['transform']} ({plan['class'].rpartition('.')[2]})", TITLE)
        for line in plan["plan"].strip().splitlines():
            yield Line(f"  {line}" if line else "")
    if (dry_run := preview.get("dryRun")) is not None:
        yield Line(f"{counted(len(dry_run['rows']), 'row')} would be written to the target", TITLE)
        if dry_run["schema"]:
            yield Line(f"  schema: {dry_run['schema']}")
        for row in dry_run["rows"]:
            yield Line(f"  {_short(row)}", ADDED)
    for note in preview["notes"]:
        yield Line(f"Note: {note}", CHANGED)
    yield from _end(preview)


def _record(number: int, record: Json) -> Iterator[Line]:
    if record.get("polled") is not None:
        where = f"source partition {_short(record['sourcePartition'])}, offset {_short(record['sourceOffset'])}"
        begin = "polled"
    else:
        consumed = record["consumed"]
        where, begin = f"{consumed['topic']}-{consumed['partition']}, offset {consumed['offset']}", "consumed"
    yield Line(f"Record {number}: {where}", TITLE)
    before = [record.get("polled") or record["consumed"]]
    yield Line(f"  {begin}: {_whole(before[0])}")
    for step in record["steps"]:
        row = step.get("row", 1) - 1
        yield from _step(step, before[row])
        if "after" in step and "row" in step:
            before[row] = step["after"]
        elif "after" in step:
            before = [step["after"]]
        before = list(step.get("rows", before))
    yield from _outcome(record)


def _step(step: Json, before: Json) -> Iterator[Line]:
    row = f", row {step['row']}" if "row" in step else ""
    name = f"  {step['transform']} ({step['class'].rpartition('.')[2]}{row})"
    tested = step.get("predicate")
    condition = ""
    if tested is not None:
        result = {True: "true", False: "false", None: "not known"}[tested["result"]]
        condition = f", predicate {tested['predicate']} is {result}{' (negated)' if tested['negate'] else ''}"
    style = {"dropped": CHANGED, "combined": CHANGED, "failed": BAD, "not previewed": CHANGED}.get(step["outcome"], "")
    text = step.get("message") or step["outcome"]
    yield Line(f"{name}: {text}{condition}", style)
    if "after" in step:
        yield from differences(before, step["after"])
    for number, made in enumerate(step.get("rows", ()), 1):
        yield Line(f"    row {number}: {_whole(made)}", ADDED)


def differences(before: Json, after: Json) -> Iterator[Line]:
    """Yield a line for each part of a record that was added (+), removed (-) or changed (~)."""
    old, new = dict(_flat(before)), dict(_flat(after))
    for path in (path for path in old if path not in new):
        yield Line(f"    - {path}: {_short(old[path])}", REMOVED)
    for path, value in new.items():
        if path not in old:
            yield Line(f"    + {path}: {_short(value)}", ADDED)
        elif old[path] != value:
            yield Line(f"    ~ {path}: {_short(old[path])} → {_short(value)}", CHANGED)


def _flat(record: Json) -> Iterator[tuple[str, Any]]:
    for name in ("topic", "partition", "timestamp"):
        yield name, record[name]
    for name in ("key", "value"):
        yield from _flat_value(name, record[name]["value"])
        schema = record[name]["schema"]
        yield f"{name}'s schema", schema if schema is None else _schema(schema)
    for header in record["headers"]:
        yield f"header {header['key']}", header["value"]["value"]


def _flat_value(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for name, each in value.items():
        yield from _flat_value(f"{path}.{name}", each)


def _schema(schema: Json) -> str:
    """Return a schema in short: names and types of its fields."""
    if schema.get("type") != "struct":
        return str(schema.get("name") or schema.get("type"))
    fields = (f"{field['field']} {_schema(field)}" for field in schema.get("fields", ()))
    return f"struct({', '.join(fields)})"


def _whole(record: Json) -> str:
    key = "" if record["key"]["value"] is None else f", key {_short(record['key']['value'])}"
    return f"topic {record['topic']}{key}, value {_part(record['value'])}"


def _part(part: Json) -> str:
    if "error" in part:
        return f"{_size(part)} that cannot be read: {part['error']}"
    return _short(part["value"]) + (" (truncated)" if part.get("truncated") else "")


def _size(part: Json) -> str:
    raw = part.get("bytes")
    if raw is None:
        return "null"
    count = len(base64.b64decode(raw))
    return "1 byte" if count == 1 else f"{count:,} bytes"


def _outcome(record: Json) -> Iterator[Line]:
    error, result = record.get("error"), record["result"]
    if error is not None:
        consequence = {
            "fails the task": "The task would fail",
            "skipped": "The record would be skipped",
            "dead letter": f"The record would go to the dead letter topic {error.get('deadLetterTopic')}",
        }.get(record["outcome"], record["outcome"])
        where = f" {error['transform']}" if error.get("transform") else ""
        yield Line(f"  {consequence}: {error['stage']}{where}: {error['error']}: {error['message']}", BAD)
        if error.get("hint"):
            yield Line(f"  Hint: {error['hint']}")
    elif record["outcome"] == "not previewed":
        yield Line("  What would be written is not known", CHANGED)
    elif record["outcome"] == "combined":
        return
    elif result is None:
        yield Line("  Nothing would be written", CHANGED)
    else:
        for each in record.get("results", (result,)):
            yield _result(record["outcome"], each)


def _result(outcome: str, result: Json) -> Line:
    if outcome != "written":
        return Line(f"  Would be put: {_whole(result)}", ADDED)
    partition = "a partition of the producer's choice" if result["partition"] is None else result["partition"]
    size, value = _size(result["value"]), _part(result["value"])
    return Line(f"  Would be written to topic {result['topic']}, {partition}: value of {size}: {value}", ADDED)


def _end(preview: Json) -> Iterator[Line]:
    count, error = len(preview["records"]), preview["error"]
    tasks = "" if preview["tasks"] is None else f" of {preview['tasks']}"
    records = "1 record" if count == 1 else f"{count} records"
    yield Line(f"{records} of task {preview['task']}{tasks}; nothing was written", TITLE)
    if preview["end"] == "time":
        yield Line("There were no more records within the time: see --timeout")
    if error is not None:
        kind = f"{error['error']}: " if error.get("error") else ""
        yield Line(f"{error['stage']}: {kind}{error['message']}", BAD)
        if error.get("hint"):
            yield Line(f"Hint: {error['hint']}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
