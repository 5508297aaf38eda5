# SPDX-License-Identifier: Apache-2.0
"""Changes of the whole cluster: the lines of ``headrace.audit`` that workers keep in memory, of all workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Final

from headrace.herder.errors import BadRequestError
from headrace.herder.worker_parts import Json, PartRequest, WorkerParts
from headrace.logs import audit
from headrace.logs.log_ring import LogLine, LogRing
from headrace.model.info import AuditedChange, Changes

MOST_CHANGES: Final = 1000
SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"
_CHANGES: Final = "changes"


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """A choice of changes, at most ``limit`` of each worker, the newest ones.

    ``who`` and ``connector`` are patterns with ``*`` and ``?`` for the whole name, ``result`` SUCCEEDED or FAILED, and
    ``text`` is anywhere in the line, in any case. An empty one chooses all.
    """

    limit: int = 200
    who: str = ""
    connector: str = ""
    result: str = ""
    text: str = ""

    @classmethod
    def of_json(cls, body: bytes) -> ChangeQuery:
        """Return another worker's query. Raise BadRequestError if it is none."""
        try:
            query = cls(**json.loads(body))
        except (ValueError, TypeError) as error:
            raise BadRequestError(f"The body is no request for changes: {error}") from error
        texts = (query.who, query.connector, query.result, query.text)
        if not isinstance(query.limit, int) or not all(isinstance(text, str) for text in texts):
            raise BadRequestError("The body is no request for changes: limit is a number, all else is text")
        return query

    def to_json(self) -> Json:
        return asdict(self)

    def accepts(self, change: AuditedChange, line: str) -> bool:
        """Return True for a change of this choice; ``line`` is that of the log."""
        return (
            (not self.who or _matches(change.who, self.who))
            and (not self.connector or self._is_of(change.connector or ""))
            and (not self.result or self.result == (FAILED if has_failed(change) else SUCCEEDED))
            and self.text.lower() in line.lower()
        )

    def _is_of(self, connector: str) -> bool:
        return _matches(connector, self.connector) or connector == audit.cut(self.connector)


class ClusterChanges:
    """Answers about changes, from any worker. Methods block for a short time; any thread may call them.

    These are no lines of a connector's log: a change may be of no connector, or of one that is gone, and the worker
    that was asked for it may run nothing. So all members of the group are asked.
    """

    def __init__(
        self,
        ring: LogRing,
        workers: Callable[[], Collection[str]],
        parts: WorkerParts,
        ask: Callable[[str, ChangeQuery], Json] | None = None,
    ) -> None:
        """``workers`` returns the ids of all members; ``ask`` what ``here`` returns at another one."""
        self._ring = ring
        self._workers = workers
        self._parts = parts
        self._ask = ask

    def here(self, query: ChangeQuery) -> Json:
        """Return this worker's own changes as JSON, in their order."""
        return {_CHANGES: [asdict(change) for change in self._kept(query)]}

    def of_cluster(self, query: ChangeQuery) -> Changes:
        """Return the changes of all workers, the newest first; ``missing`` has workers that have not answered."""
        ask = self._ask
        there = None if ask is None else lambda worker: ask(worker, query)
        request = PartRequest(_CHANGES, lambda: self._kept(query), there, _read)
        answers = self._parts.collect(self._workers(), request)
        found = [change for answer in answers.values() if not isinstance(answer, str) for change in answer]
        missing = {worker: answer for worker, answer in sorted(answers.items()) if isinstance(answer, str)}
        return Changes(tuple(sorted(found, key=lambda change: change.time, reverse=True)), missing)

    def _kept(self, query: ChangeQuery) -> list[AuditedChange]:
        def wanted(line: LogLine) -> bool:
            change = change_of(line)
            return change is not None and query.accepts(change, line.message)

        lines = self._ring.newest(query.limit, wanted).lines
        return [change for line in lines if (change := change_of(line)) is not None]


def change_of(line: LogLine) -> AuditedChange | None:
    """Return the change that a line is about; None for a line of another logger."""
    found = audit.fields_of(line.message) if line.logger == audit.AUDIT else None
    if found is None:
        return None
    known: dict[str, Any] = {field.name: found.get(field.name) for field in fields(AuditedChange)}
    texts = {name: known[name] or "" for name in ("who", "worker", "what", "result")}
    return AuditedChange(**{**known, **texts, "time": line.time, "forwarded": known["forwarded"] == "true"})


def has_failed(change: AuditedChange) -> bool:
    """Return True for a change that was refused, that failed, or whose outcome is not known."""
    return change.result in (FAILED, "unknown") or (change.result.isdecimal() and int(change.result) >= 400)


def _read(found: Json) -> list[AuditedChange]:
    return [
        AuditedChange(**{field.name: each[field.name] for field in fields(AuditedChange)}) for each in found[_CHANGES]
    ]


def _matches(name: str, pattern: str) -> bool:
    """Match ``*`` and ``?`` only, as in the rules of access."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))
