# SPDX-License-Identifier: Apache-2.0
"""Changes of a connector's offsets, and what each repeats or skips as far as that is known. Pure.

Nothing is guessed: what neither Kafka's offsets nor a connector's own kind of offset prove is "unknown".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.cli.ctl.statuses import NONE, Json

HEADINGS: Final = ("PARTITION", "NOW", "THEN", "EFFECT")
_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_FILE_SOURCE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_POSITION: Final = "position"
_SUFFIX = "Connector"


@dataclass(frozen=True, slots=True)
class Change:
    """A partition with the offsets now and then, None where there is none. ``kept``: no request names it."""

    partition: Any
    now: Any
    then: Any
    kept: bool = False

    @property
    def differs(self) -> bool:
        return canonical(self.now) != canonical(self.then)


@dataclass(frozen=True, slots=True)
class Effect:
    """The consequence of a change: at most so many units are repeated (below 0) or skipped; None is unknown."""

    count: int | None
    unit: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        if self.count is None:
            said = "unknown"
        elif self.count == 0:
            said = "none"
        else:
            said = f"{'repeats' if self.count < 0 else 'skips'} up to {abs(self.count):,} {self.unit}"
        return f"{said}: {self.note}" if self.note else said


@dataclass(frozen=True, slots=True)
class Known:
    """The knowledge of a connector besides its offsets.

    ``bounds`` are those of ``GET …/offsets?expand=bounds``; None where the worker is Java's, or they cannot be read.
    """

    config: Mapping[str, Any]
    bounds: Json | None = None
    is_headrace: bool = False


def changes(now: Sequence[Json], wanted: Iterable[Json], *, exact: bool = False) -> list[Change]:
    """Return what a request for the ``wanted`` offsets changes, and the partitions that it leaves as they are.

    Of a partition that occurs twice the last offset is used, as workers do. With ``exact`` partitions that ``wanted``
    lacks lose their offset.
    """
    then = {canonical(each["partition"]): each for each in wanted}
    before = {canonical(each["partition"]): each for each in now}
    found = [
        Change(each["partition"], before[key]["offset"] if key in before else None, each["offset"])
        for key, each in then.items()
    ]
    for key, each in before.items():
        if key not in then:
            found.append(Change(each["partition"], each["offset"], None if exact else each["offset"], kept=not exact))
    return found


def canonical(value: Any) -> str:
    """Return a text that is the same for equal JSON, whatever the order of fields; 1, 1.0 and true differ.

    The partition number of a sink's topic may be a text in requests.
    """
    if isinstance(value, dict) and value.keys() == {_TOPIC, _PARTITION} and str(value[_PARTITION]).isdecimal():
        value = {**value, _PARTITION: int(value[_PARTITION])}
    if isinstance(value, dict) and value.keys() == {_OFFSET} and str(value[_OFFSET]).isdecimal():
        value = {_OFFSET: int(value[_OFFSET])}
    return json.dumps(value, sort_keys=True)


def effect(change: Change, known: Known) -> Effect:
    """Return what follows from a change when the connector is resumed."""
    if not change.differs:
        return Effect(0, note="kept" if change.kept else "")
    if isinstance(change.partition, dict) and change.partition.keys() == {_TOPIC, _PARTITION}:
        return _of_sink(change, known)
    return _of_source(change, known)


def rows(found: Iterable[Change], known: Known) -> list[tuple[str, ...]]:
    """Return the cells below ``HEADINGS``."""
    return [
        (text(each.partition), text(each.now), text(each.then), shown_effect(effect(each, known))) for each in found
    ]


def shown_effect(of: Effect) -> str:
    return NONE if of.text == "none" else of.text


def data(found: Iterable[Change], known: Known) -> list[dict[str, Any]]:
    """Return the changes for programs; ``records`` is below 0 if they are repeated, null if that is not known."""
    listed = []
    for each in found:
        of = effect(each, known)
        fields = {"partition": each.partition, "now": each.now, "then": each.then}
        listed.append({**fields, "effect": of.text, "count": of.count, "unit": of.unit or None})
    return listed


def summary(found: Iterable[Change], known: Known) -> str:
    """Return the sum of all effects, for the question."""
    effects = [effect(each, known) for each in found]
    sums: dict[tuple[str, str], int] = {}
    for each in effects:
        if each.count:
            kind = ("repeats" if each.count < 0 else "skips", each.unit)
            sums[kind] = sums.get(kind, 0) + abs(each.count)
    parts = [f"{verb} up to {count:,} {unit}" for (verb, unit), count in sorted(sums.items())]
    unknown = sum(each.count is None for each in effects)
    if unknown:
        parts.append(f"has an unknown effect on {unknown} partition{'s' if unknown > 1 else ''}")
    return f"This {', '.join(parts)}." if parts else "This repeats and skips nothing."


def text(value: Any) -> str:
    """Return JSON in one line, "-" for no offset."""
    return NONE if value is None else json.dumps(value, ensure_ascii=False)


# ---- sinks


def _of_sink(change: Change, known: Known) -> Effect:
    before, after = _number(change.now, _OFFSET), _number(change.then, _OFFSET)
    bound, reset = _bound_of(change.partition, known.bounds)
    if bound is None:
        if before is None or after is None:
            return Effect(None, note="where it begins is for auto.offset.reset and Kafka to say")
        return Effect(after - before, "records", note="if Kafka has them, which is not known")
    start, now, note = _continues(after, bound, reset), _continues(before, bound, reset), _note(after, bound, reset)
    if start is None or now is None:
        return Effect(None, note=note)
    return Effect(start - now, "records", note)


def _bound_of(partition: Any, bounds: Json | None) -> tuple[Json | None, str]:
    if bounds is None:
        return None, ""
    wanted = canonical(partition)
    found = next((each for each in bounds["partitions"] if canonical(each["partition"]) == wanted), None)
    return found, str(bounds["reset"])


def _continues(offset: int | None, bound: Json, reset: str) -> int | None:
    """Return the position at which a consumer begins; None if its reset position is not known."""
    if offset is not None and bound["first"] <= offset <= bound["end"]:
        return offset
    return {"earliest": int(bound["first"]), "latest": int(bound["end"])}.get(reset)


def _note(offset: int | None, bound: Json, reset: str) -> str:
    first, end = bound["first"], bound["end"]
    if offset is None:
        reason = ""
    elif offset > end:
        reason = f"{offset:,} is beyond the end, {end:,}; "
    elif offset < first:
        reason = f"{offset:,} is before the first record, {first:,}; "
    else:
        return ""
    where = {"earliest": f"begins at the first record, {first:,}", "latest": f"begins at the end, {end:,}"}
    return f"{reason}{where.get(reset, 'the task will fail')} (auto.offset.reset={reset})"


def _number(offset: Any, member: str) -> int | None:
    """Return a member of an offset that is a whole number, or its text."""
    value = offset.get(member) if isinstance(offset, dict) else None
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ---- sources


def _of_source(change: Change, known: Known) -> Effect:
    if _reads_file(change, known):
        before = 0 if change.now is None else _number(change.now, _POSITION)
        after = 0 if change.then is None else _number(change.then, _POSITION)
        if before is not None and after is not None:
            return Effect(after - before, "bytes")
    member = _changed_number(change.now, change.then)
    if member is None:
        return Effect(None)
    by = change.then[member] - change.now[member]
    return Effect(None, note=f"{member} is {abs(by):,} {'lower' if by < 0 else 'higher'}")


def _reads_file(change: Change, known: Known) -> bool:
    """Return True for the file of headrace's FileStreamSource, whose position is bytes; Java's counts characters."""
    file = known.config.get("file")
    is_its_file = file is not None and change.partition == {"filename": file}
    return known.is_headrace and is_its_file and listed_class(known.config.get("connector.class")) == _FILE_SOURCE


def _changed_number(now: Any, then: Any) -> str | None:
    """Return the only member that differs, if it is a whole number in both."""
    if not isinstance(now, dict) or not isinstance(then, dict) or now.keys() != then.keys():
        return None
    changed = [key for key in now if canonical(now[key]) != canonical(then[key])]
    numbers = all(isinstance(of[key], int) and not isinstance(of[key], bool) for key in changed for of in (now, then))
    return changed[0] if len(changed) == 1 and numbers else None


def listed_class(name: str | None) -> str:
    """Return the full name of a connector of headrace's own, that of Java's class if it has one; else the name."""
    from headrace.plugins.builtin import BUILT_IN, JAVA_PREFIX, PluginKind

    wanted = (name or "").strip().removeprefix(JAVA_PREFIX)
    for known in BUILT_IN:
        if known.kind is PluginKind.CONNECTOR and wanted in known.names():
            return known.class_name
    return wanted.replace(":", ".")


def is_same_class(one: str | None, other: str | None) -> bool:
    """Return True if two names mean one class; a name without a package means any class of that name."""
    names = listed_class(one), listed_class(other)
    if names[0] == names[1]:
        return bool(names[0])
    parts = [name.rpartition(".") for name in names]
    short = [last.removesuffix(_SUFFIX) or last for _, _, last in parts]
    return short[0] == short[1] and not all(package for package, _, _ in parts)
