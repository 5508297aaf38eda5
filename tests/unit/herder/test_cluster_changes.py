# SPDX-License-Identifier: Apache-2.0
"""Changes of all workers, read from the lines of their audit."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.herder.cluster_changes import ChangeQuery, ClusterChanges
from headrace.herder.errors import BadRequestError
from headrace.herder.worker_parts import WorkerParts
from headrace.logs import audit
from headrace.logs.log_ring import LogRing
from headrace.worker.stages import Stages

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def ring() -> Iterator[LogRing]:
    """What this worker keeps, at first four changes and a line that looks like one."""
    ring, logger = LogRing(100_000), logging.getLogger(audit.AUDIT)
    other = logging.getLogger("headrace.rest")
    before = logger.level
    logger.setLevel(logging.INFO)  # also clears what the logger remembers of its level
    for each in (logger, other):
        each.addHandler(ring)
    try:
        about: dict[str, str | None] = {"who": "emil", "by": "jwt", "address": "10.1.2.3", "worker": "here:1"}
        audit.write({**about, "what": "PUT /connectors/c/pause", "connector": "c", "result": "202"})
        refused = {"what": "PUT /admin/loggers/root", "result": "403", "reason": f'no "{MARKUP}" rule'}
        audit.write({**about, "who": "vera", **refused})
        audit.write_own(audit.LEADER, "here:1", "task configs of connector d", connector="d", change="1 task → 2 tasks")
        audit.write_own(audit.ENGINE, "here:1", "restart of c-0", connector="c", reason="it died", failed=True)
        other.warning("audit who=root what=x result=200")
        yield ring
    finally:
        logger.setLevel(before)
        for each in (logger, other):
            each.removeHandler(ring)


class Others:
    def __init__(self, ring: LogRing) -> None:
        self._ring = ring

    def __call__(self, worker: str, query: ChangeQuery) -> Any:
        if worker == "away:1":
            raise RetriableError("connection refused")
        if worker == "old:1":
            return {"lines": []}
        answer = changes(self._ring).here(ChangeQuery.of_json(_sent(query)))
        for each in answer["changes"]:
            each |= {"worker": worker, "time": each["time"] + 1000, "of_a_later_version": 1}
        return answer


def _sent(query: ChangeQuery) -> bytes:
    return json.dumps(query.to_json()).encode()


def changes(ring: LogRing, others: Others | None = None) -> ClusterChanges:
    stages = Stages(time.monotonic)
    workers = ("here:1", "idle:1", "away:1", "old:1") if others else ("here:1",)
    return ClusterChanges(ring, lambda: workers, WorkerParts("here:1", stages, time.monotonic), others)


def whats(ring: LogRing, **query: Any) -> list[str]:
    return [each.what for each in changes(ring).of_cluster(ChangeQuery(**query)).changes]


def test_a_line_is_read_as_it_was_written(ring: LogRing) -> None:
    found = changes(ring).of_cluster(ChangeQuery())
    assert found.missing == {} and len(found.changes) == 4
    refused = next(each for each in found.changes if each.who == "vera")
    assert (refused.what, refused.connector, refused.result) == ("PUT /admin/loggers/root", None, "403")
    assert refused.reason == f'no "{MARKUP}" rule' and not refused.forwarded and refused.address == "10.1.2.3"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"who": "em*"}, {"PUT /connectors/c/pause"}),
        ({"who": "e?il", "connector": "d"}, set()),
        ({"who": "Emil"}, set()),
        ({"connector": "c"}, {"PUT /connectors/c/pause", "restart of c-0"}),
        ({"connector": "[cd]"}, set()),
        ({"result": "failed"}, {"PUT /admin/loggers/root", "restart of c-0"}),
        ({"result": "succeeded"}, {"PUT /connectors/c/pause", "task configs of connector d"}),
        ({"text": "LOGGERS"}, {"PUT /admin/loggers/root"}),
        ({"text": "no such"}, set()),
    ],
)
def test_changes_are_chosen(ring: LogRing, query: dict[str, str], found: set[str]) -> None:
    assert set(whats(ring, **query)) == found


def test_the_limit_counts_those_that_are_chosen(ring: LogRing) -> None:
    assert whats(ring, limit=1, who="emil") == ["PUT /connectors/c/pause"]
    assert len(whats(ring, limit=3)) == 3


def test_the_newest_of_all_workers_come_first_and_those_without_an_answer_are_named(ring: LogRing) -> None:
    found = changes(ring, Others(ring)).of_cluster(ChangeQuery())
    assert [each.worker for each in found.changes] == 4 * ["idle:1"] + 4 * ["here:1"]
    assert "connection refused" in found.missing["away:1"] and "another version" in found.missing["old:1"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"level": "x"}', b'{"limit": "3"}', b'{"who": 1}'])
def test_a_query_of_another_form_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequestError, match="no request for changes"):
        ChangeQuery.of_json(body)
