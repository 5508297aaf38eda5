# SPDX-License-Identifier: Apache-2.0
"""The verdict about a task, case by case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.api.lag import Lag, LagUnit
from headrace.model.health import Handling, Progress, Stage, TaskError, TaskFacts
from headrace.model.verdict import Judgement, TaskView, Verdict, connector_verdict, verdict, worst

TIMEOUT = 300_000
DOWN = TaskError("OperationalError", "connection refused", Stage.POLLING, Handling.RETRIED, 0)


BEHIND = Lag(LagUnit.BYTES, {"a.log": 2, "b.log": 5})


def facts(stage: Stage = Stage.POLLING, since: int = 100, **more: Any) -> TaskFacts:
    """Return the facts of a task that was started an hour ago; ``more`` are those of progress and of others."""
    names = ("last_poll", "last_record", "last_commit", "transaction_open", "transaction_interval", "lag_since")
    unread = more.pop("unread", None)
    progress = Progress(stage, since, lag=unread, **{name: more.pop(name) for name in names if name in more})
    return replace(TaskFacts(progress, attempt=3_600_000), **more)


def error(stage: Stage, handling: Handling = Handling.RETRIED) -> TaskError:
    return TaskError("OSError", "no space left", stage, handling, 0)


def judge(known: TaskFacts | None, state: str = "RUNNING", trace: str | None = None) -> Judgement:
    return verdict(TaskView(state, trace, known), TIMEOUT)


@pytest.mark.parametrize(
    ("state", "trace", "found", "why"),
    [
        ("FAILED", "boom\nTraceback", Verdict.FAILED, "It has failed: boom."),
        ("FAILED", "Traceback (most recent call last):\n  x\nValueError: 3", Verdict.FAILED, "failed: ValueError: 3."),
        ("FAILED", None, Verdict.FAILED, "the reason is not known"),
        ("PAUSED", None, Verdict.HEALTHY, "paused, as a user has asked for"),
        ("STOPPED", None, Verdict.HEALTHY, "stopped, as a user has asked for"),
        ("UNASSIGNED", None, Verdict.DEGRADED, "No worker runs it"),
    ],
)
def test_what_the_state_decides(state: str, trace: str | None, found: Verdict, why: str) -> None:
    # whatever else there is
    for known in (None, facts(Stage.PUTTING, TIMEOUT, last_error=DOWN, error_age=1)):
        judged = judge(known, state, trace)
        assert judged.verdict is found and why in judged.why


def test_without_facts_it_is_not_known() -> None:
    judged = verdict(TaskView("RUNNING", unknown="its worker, w:1, has not answered within 2 s"), TIMEOUT)
    assert judged == Judgement(
        Verdict.DEGRADED, "How it fares is not known: its worker, w:1, has not answered within 2 s."
    )


FAILED = error(Stage.PUTTING, Handling.FAILED)
HEALTHY = {
    "a restart after a failure, and records since": facts(
        last_error=FAILED, error_age=90_000, last_record=1000, attempt=30_000
    ),
    "a restart after a failure, of a minute ago": facts(last_error=FAILED, error_age=90_000, attempt=60_000),
    "a source without records": facts(last_poll=50),
    "a source whose last record is old": facts(last_poll=50, last_record=9 * TIMEOUT, last_commit=9 * TIMEOUT),
    "a source that has read all": facts(last_poll=50, last_record=9 * TIMEOUT, unread=Lag(LagUnit.BYTES, {"a": 0})),
    "a source that is far behind and reads": facts(last_record=9000, unread=BEHIND, lag_since=TIMEOUT),
    "a source with something new after an idle hour": facts(last_record=9 * TIMEOUT, unread=BEHIND, lag_since=4000),
    "a source whose lag is of before a pause": facts(last_record=9 * TIMEOUT, unread=BEHIND),
    "a source behind, in a new attempt": facts(unread=BEHIND, lag_since=TIMEOUT, attempt=TIMEOUT - 1),
    "a sink without records": facts(Stage.READING, 9 * TIMEOUT, last_poll=50, lag={"t-0": 0}),
    "a sink that has put all": facts(Stage.READING, 1, last_record=9 * TIMEOUT, lag={"t-0": 0, "t-1": 0}),
    "a sink that is behind since its last put": facts(Stage.READING, 1, last_record=TIMEOUT - 1, lag={"t-0": 1}),
    "a sink with something new after an idle hour": facts(
        Stage.PUTTING, 900, last_record=9 * TIMEOUT, last_commit=9 * TIMEOUT, lag={"t-0": 9}, lag_since=4000
    ),
    "a sink that was just resumed": facts(Stage.READING, 1, last_record=9 * TIMEOUT, lag={"t-0": 9}),
    "a sink that is far behind and puts": facts(Stage.PUTTING, 900, last_record=1000, lag={"t-0": 10**9}),
    "a call that takes long": facts(Stage.PUTTING, TIMEOUT - 1),
    "an error of polls, and a poll since": facts(last_poll=900, last_error=DOWN, error_age=1000, error_since=TIMEOUT),
    "an error of puts, and a put since": facts(
        Stage.READING, 1, last_record=900, last_error=error(Stage.PUTTING), error_age=1000, error_since=1000
    ),
    "an error of commits, and a commit since": facts(
        last_commit=900, last_error=error(Stage.COMMITTING), error_age=1000, error_since=1000
    ),
    "an error of the producer, and a commit since": facts(
        last_commit=900, last_error=error(Stage.PRODUCING), error_age=1000, error_since=1000
    ),
    "a tolerated error of a minute ago": facts(
        last_error=error(Stage.CONVERTING, Handling.TOLERATED), error_age=60_000, error_since=90_000
    ),
    "an error that ended the former attempt, and a poll since": facts(
        last_poll=9, last_error=error(Stage.COMMITTING), error_age=90_000, error_since=90_000, attempt=89_000
    ),
    "a restart of a minute ago": facts(restarts=1, restart_reason="its executor died", restart_age=60_000),
    "a restart, and a commit since": facts(last_commit=5, restarts=1, restart_reason="x", restart_age=6),
    "two restarts, and a commit since": facts(last_commit=5, restarts=2, restarts_lately=2, restart_age=6),
    "a commit": facts(Stage.COMMITTING, 4999, last_poll=4999, last_commit=5050, transaction_open=4999),
    "a sink that flushes what it has put": facts(Stage.COMMITTING, 60_000, last_poll=60_000, last_commit=60_050),
    "an open transaction that grows": facts(last_poll=1, last_record=2000, transaction_open=TIMEOUT),
    "an open transaction that is not due yet": facts(
        last_poll=1, last_record=3 * TIMEOUT, transaction_open=3 * TIMEOUT, transaction_interval=2 * TIMEOUT + 1
    ),
    "a process that was asked just now": facts(Stage.PUTTING, TIMEOUT, silent=500),
}


@pytest.mark.parametrize("case", HEALTHY)
def test_healthy(case: str) -> None:
    judged = judge(HEALTHY[case])
    assert judged.verdict is Verdict.HEALTHY, judged.why


DEGRADED = {
    "a database that is down": (
        facts(last_poll=60_000, last_error=DOWN, error_age=3000, error_since=59_000),
        "Polling has failed and been retried for 59 s: OperationalError: connection refused.",
    ),
    "an error before anything went well": (
        facts(last_error=error(Stage.STARTING), error_age=3000, error_since=3000),
        "Starting has failed and been retried for 3 s: OSError: no space left.",
    ),
    "an error of puts after an hour without records": (
        facts(Stage.READING, 9, last_record=3_600_000, last_error=error(Stage.PUTTING), error_age=9, error_since=9),
        "Putting records has failed and been retried for 0 s",
    ),
    "an error of puts, while former batches are committed": (
        facts(last_poll=1, last_commit=1, last_error=error(Stage.PUTTING), error_age=5000, error_since=9000),
        "retried for 9 s: OSError: no space left.",
    ),
    "brokers that are away, while records are given to the producer": (
        facts(last_poll=1, last_record=1, last_error=error(Stage.PRODUCING), error_age=5000, error_since=9000),
        "Producing has failed and been retried for 9 s",
    ),
    "an error after progress in the midst of others": (
        facts(last_poll=20_000, last_error=DOWN, error_age=3000, error_since=90_000),
        "retried for 20 s",
    ),
    "a tolerated error": (
        facts(last_poll=5, last_error=error(Stage.CONVERTING, Handling.TOLERATED), error_age=59_999, error_since=9),
        "It skipped a record 60 s ago, as errors.tolerance allows: OSError: no space left.",
    ),
    "a restart": (
        facts(last_poll=5, restarts=1, restart_reason="its executor died", restart_age=59_999),
        "It was restarted 60 s ago: its executor died.",
    ),
    "a restart after a failure": (
        facts(Stage.STARTING, last_error=FAILED, error_age=90_000, last_record=95_000, attempt=59_999),
        "It was restarted 60 s ago, after it had failed: OSError: no space left.",
    ),
    "restarts again and again, with commits between": (
        facts(last_poll=5, last_commit=5, restarts=9, restarts_lately=3, restart_reason="fenced", restart_age=59_999),
        "It was restarted 3 times within the last minute: fenced.",
    ),
    "a commit during which the brokers were lost": (
        facts(Stage.COMMITTING, 5000, last_poll=5000, last_commit=5050, transaction_open=5000),
        "It has been committing a transaction for 5 s: do the brokers of bootstrap.servers answer?",
    ),
    "a process that does not answer": (facts(silent=10_000), "Its process has not answered for 10 s."),
}


@pytest.mark.parametrize("case", DEGRADED)
def test_degraded(case: str) -> None:
    known, why = DEGRADED[case]
    judged = judge(known)
    assert judged.verdict is Verdict.DEGRADED and why in judged.why, judged.why


def test_a_task_that_waits_or_restarts_is_degraded() -> None:
    waiting = judge(facts(Stage.WAITING_FOR_CORES, 12_000), "RESTARTING", "no core of the cluster is free")
    assert waiting.verdict is Verdict.DEGRADED
    assert waiting.why == "It has been waiting for a core for 12 s: no core of the cluster is free."
    restarting = judge(facts(Stage.STARTING, restart_reason="the commit timed out", restart_age=9), "RESTARTING")
    assert restarting == Judgement(Verdict.DEGRADED, "It is being restarted: the commit timed out.")


STALLED = {
    "a poll that blocks": (facts(since=TIMEOUT), "It has been polling for 5 min, in one call that does not return."),
    "a start that blocks": (facts(Stage.STARTING, TIMEOUT), "starting for 5 min"),
    "a put that blocks": (facts(Stage.PUTTING, TIMEOUT, last_record=TIMEOUT), "putting records for 5 min"),
    "an error that lasts": (
        facts(last_poll=TIMEOUT, last_error=DOWN, error_age=10, error_since=TIMEOUT),
        "Polling has failed and been retried for 5 min: OperationalError",
    ),
    "a transaction without records": (
        facts(last_poll=1, last_record=TIMEOUT, transaction_open=TIMEOUT + 1),
        "Its transaction has been open for 5 min",
    ),
    "a source that reads nothing though there is something": (
        facts(last_poll=1, last_record=9 * TIMEOUT, unread=BEHIND, lag_since=TIMEOUT),
        "It is 7 bytes behind, 5 of them in b.log, and has read nothing for 5 min.",
    ),
    "a source that has never read": (
        facts(last_poll=1, unread=BEHIND, lag_since=TIMEOUT),
        "It is 7 bytes behind, 5 of them in b.log, and has read nothing for 5 min.",
    ),
    "a sink that puts nothing": (
        facts(Stage.CONVERTING, 1, last_record=TIMEOUT, lag={"t-0": 1, "t-1": 7}, lag_since=9 * TIMEOUT),
        "It is 8 records behind, 7 of them in t-1, and has put and committed nothing for 5 min.",
    ),
    "a sink that reads nothing though there is something": (
        facts(Stage.READING, 1, last_record=TIMEOUT, lag={"t-0": 1}, lag_since=TIMEOUT),
        "It is 1 record behind, 1 of them in t-0",
    ),
    "a process that does not answer": (facts(silent=TIMEOUT), "Its process has not answered for 5 min."),
}


@pytest.mark.parametrize("case", STALLED)
def test_stalled(case: str) -> None:
    known, why = STALLED[case]
    judged = judge(known)
    assert judged.verdict is Verdict.STALLED and why in judged.why, judged.why


def test_the_connectors_verdict_is_the_worst_of_its_parts() -> None:
    well, ill = connector_verdict("RUNNING", None), Judgement(Verdict.STALLED, "It reads nothing.")
    assert worst([("Connector", well), ("Task 0", well)]).verdict is Verdict.HEALTHY
    degraded = Judgement(Verdict.DEGRADED, "It is late.")
    assert worst([("Connector", well), ("Task 0", degraded), ("Task 1", ill)]) == Judgement(
        Verdict.STALLED, "Task 1: It reads nothing."
    )
    assert connector_verdict("FAILED", "no such class").verdict is Verdict.FAILED
    assert connector_verdict("RESTARTING", None).verdict is Verdict.DEGRADED


def test_the_next_attempt_counts_from_now() -> None:
    retried = replace(DOWN, time_ms=1_000_000, next_attempt_ms=1_010_000)
    assert facts(last_error=retried, error_age=4000).next_attempt == 6000
    assert facts(last_error=retried, error_age=11_000).next_attempt is None
