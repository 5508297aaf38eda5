# SPDX-License-Identifier: Apache-2.0
"""Consequences of a change for running tasks and for offsets, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.differences import Action, Change, Config, Offsets
from headrace.config.connector_config import CONNECTOR_CLASS, LABELS, NAME

_TOPICS: Final = "topics"
_TOPICS_REGEX: Final = "topics.regex"
_GROUP: Final = "consumer.override.group.id"
_OFFSETS_TOPIC: Final = "offsets.storage.topic"
_SHORTEST: Final = 2
"""Characters of the shortest value that is searched for in source partitions."""


def with_effects(change: Change, offsets: Offsets) -> Change:
    """Return the change with its effects; ``offsets`` are the committed ones of an updated source connector."""
    if change.action is Action.DELETE:
        return replace(change, effects=(*_deleted(change),))
    if change.action is not Action.UPDATE:
        return change
    return replace(change, effects=(*_tasks(change), *_offsets(change, offsets)))


def renamed(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a sentence for each new connector that is one of the deleted ones under another name."""
    for new in changes:
        for old in changes:
            if new.action is Action.CREATE and old.action is Action.DELETE and _same_but_name(new, old):
                yield f"Connector {new.name} is {old.name} under another name: it has no offsets, and begins anew."


def _same_but_name(new: Change, old: Change) -> bool:
    assert new.config is not None and old.current is not None
    return _unnamed(new.config) == _unnamed(old.current.config)


def _unnamed(config: Config) -> dict[str, str | None]:
    return {key: text for key, text in config.items() if key not in (NAME, LABELS)}


def _deleted(change: Change) -> Iterator[str]:
    assert change.current is not None
    if change.current.tasks:
        yield f"Its {_tasks_are(change.current.tasks)} stopped."
    yield "Its offsets stay: a connector of the same name continues from them."


def _tasks(change: Change) -> Iterator[str]:
    current = change.current
    assert current is not None
    if change.goal is not Goal.RUNNING:
        if current.state is Goal.RUNNING and current.tasks:
            yield f"Its {_tasks_are(current.tasks)} {change.goal.value.lower()}."
        return
    if current.state is not Goal.RUNNING:
        yield "The connector and its tasks are started."
    elif change.config is not None and current.tasks:
        yield f"The connector and its {'task' if current.tasks == 1 else f'{current.tasks} tasks'} are restarted."
    elif change.config is not None:
        yield "The connector is restarted."


def _tasks_are(tasks: int) -> str:
    return "task is" if tasks == 1 else f"{tasks} tasks are"


def _offsets(change: Change, offsets: Offsets) -> Iterator[str]:
    assert change.current is not None
    if change.config is None:
        return
    old, new = change.current.config, change.config
    if old.get(CONNECTOR_CLASS) != new.get(CONNECTOR_CLASS):
        yield "Offsets: another class may not understand the committed offsets."
    if change.current.type == "sink":
        yield from _sink_offsets(old, new)
        return
    if old.get(_OFFSETS_TOPIC) != new.get(_OFFSETS_TOPIC):
        topic = new.get(_OFFSETS_TOPIC) or "the offsets topic of the workers"
        yield f"Offsets: they are written to {topic} from then on."
    yield from _source_offsets(old, new, offsets)


def _sink_offsets(old: Config, new: Config) -> Iterator[str]:
    if old.get(_GROUP) != new.get(_GROUP):
        yield "Offsets: another consumer group has none, and reads by auto.offset.reset."
    if old.get(_TOPICS_REGEX) != new.get(_TOPICS_REGEX):
        yield "Offsets: topics that match for the first time are read by auto.offset.reset; those of others stay."
    before, after = _listed(old), _listed(new)
    if added := sorted(after - before):
        yield f"Offsets: {', '.join(added)} is read by auto.offset.reset, unless the group has offsets of it."
    if removed := sorted(before - after):
        yield f"Offsets: {', '.join(removed)} is read no more; its offsets stay."


def _listed(config: Config) -> set[str]:
    return {topic for each in (config.get(_TOPICS) or "").split(",") if (topic := each.strip())}


def _source_offsets(old: Config, new: Config, offsets: Offsets) -> Iterator[str]:
    """Yield a sentence for each changed property whose former value names source partitions with offsets."""
    for key, text in old.items():
        if text and len(text) >= _SHORTEST and new.get(key) != text and key != CONNECTOR_CLASS:
            used = sum(_names(each.get("partition") or {}, text) for each in offsets)
            if used:
                one = "a source partition is" if used == 1 else f"{used} source partitions are"
                yield f"Offsets: {one} named by the former {key}; what it names now is read from its beginning."


def _names(partition: Mapping[str, Any], text: str) -> bool:
    return any(str(value) == text for value in partition.values())
