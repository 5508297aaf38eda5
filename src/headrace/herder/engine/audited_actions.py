# SPDX-License-Identifier: Apache-2.0
"""The herder's decisions in the log, at DEBUG, and the audit of what the leader does without a user's request.

Decisions are lines of an event with the actions that follow from it. Of events and actions only names and numbers are
shown: configurations and keys are secrets. The audit has the leader's own writes, and rounds of fencing.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from headrace.api.error_text import error_text
from headrace.herder.core.config_writes import (
    PutAutomaticRestart,
    PutOffsetsDeleted,
    PutSessionKey,
    PutTaskConfigs,
    WriteRequest,
)
from headrace.herder.core.herder_actions import HerderAction
from headrace.herder.core.herder_events import HerderEvent
from headrace.logs.audit import LEADER, counted, work_text, write_own
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId

_SHOWN: Final = ("number", "generation", "connector", "name", "id", "ids", "connectors", "tasks")
"""Fields that hold ids, names and numbers, where they are of `_PLAIN` types or sequences of them."""
_PLAIN: Final = (str, int, ConnectorTaskId)
_MOST: Final = 10
log = logging.getLogger(__name__)


def log_decision(event: HerderEvent, actions: Sequence[HerderAction]) -> None:
    """Log what was decided; an event without consequences is not logged. On the herder's thread."""
    if actions and log.isEnabledFor(logging.DEBUG):
        counted = Counter(map(shown, actions))
        decided = [text if count == 1 else f"{count} times {text}" for text, count in counted.items()]
        log.debug("%s: %s", shown(event), _listed(decided, "; "))


def shown(value: object) -> str:
    """Return the type's name, with the fields that identify what it is about, and the write that it is for."""
    fields = ((name, getattr(value, name, None)) for name in _SHOWN)
    texts = [f"{name}={text}" for name, field in fields if (text := _text(field))]
    if (write := getattr(value, "write", None)) is not None:
        texts.append(shown(write))
    return f"{type(value).__name__}({', '.join(texts)})" if texts else type(value).__name__


def _text(field: object) -> str:
    if isinstance(field, _PLAIN):
        return str(field)
    if not isinstance(field, (tuple, frozenset)) or not all(isinstance(each, _PLAIN) for each in field):
        return ""
    each = sorted(map(str, field)) if isinstance(field, frozenset) else list(map(str, field))
    return _listed(each, " ")


def _listed(texts: Sequence[str], separator: str) -> str:
    more = f"{separator}and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return separator.join(texts[:_MOST]) + more


class LeaderAudit:
    """The audit's lines of this worker as the leader. Thread-safe."""

    def __init__(self, worker: str) -> None:
        """``worker``: its host:port, as in statuses."""
        self._worker = worker

    def wrote(self, write: WriteRequest, before: ClusterConfigState, error: BaseException | None = None) -> None:
        """Log a write of the config topic, unless a user has requested it: the line of that request has it."""
        try:
            described = describe_own_write(write, before)
        except Exception:  # the write is done: its audit must not undo it
            log.exception("no line of the audit for %s", type(write).__name__)
            return
        if described is not None:
            what, connector, change = described
            self._log(what, connector, change, error)

    @contextmanager
    def fencing(self, connector: str, producers: int) -> Iterator[None]:
        """Log a round of zombie fencing that happens meanwhile."""
        began, failure = time.monotonic(), None
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            tasks = work_text((), (ConnectorTaskId(connector, number) for number in range(producers)))
            taken = f"{counted(producers, 'producer')} ({tasks}) in {time.monotonic() - began:.2f} s"
            self._log(f"round of fencing of connector {connector}", connector, taken, failure)

    def _log(self, what: str, connector: str | None, change: str, error: BaseException | None) -> None:
        reason = None if error is None else error_text(error)
        failed = error is not None
        write_own(LEADER, self._worker, what, connector=connector, change=change, reason=reason, failed=failed)


def describe_own_write(write: WriteRequest, before: ClusterConfigState) -> tuple[str, str | None, str] | None:
    """Return what the herder's own write changes, of which connector if it is of one, and how.

    None for a user's write and for the end of a round of fencing.
    """
    match write:
        case PutTaskConfigs(name=name, configs=configs):
            known = counted(before.task_counts.get(name, 0), "task")
            return f"task configs of connector {name}", name, f"{known} → {counted(len(configs), 'task')}"
        case PutSessionKey(replaces=former, rules=rules):
            new = f"a new key of {rules.size} bytes for {rules.algorithm}"
            made = former and _time(former.created_ms)
            return "session key", None, f"{new} in place of the one of {made}" if made else f"{new}, the first one"
        case PutAutomaticRestart(id=id, count=count):
            kind = "task" if isinstance(id, ConnectorTaskId) else "connector"
            connector = id.connector if isinstance(id, ConnectorTaskId) else id
            return f"restart of {kind} {id}", connector, f"automatic, {count.attempts} in a row"
        case PutOffsetsDeleted(name=name):
            return f"offsets of the deleted connector {name}", name, "deleted"
    return None


def _time(ms: int) -> str:
    """Return a time of the config topic in ISO 8601; as it is written there if no calendar has it."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (ArithmeticError, OSError, ValueError):
        return f"{ms} ms"
