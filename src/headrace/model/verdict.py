# SPDX-License-Identifier: Apache-2.0
"""The verdict about a task or a connector, by what is known of it. Pure: all times are ages, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from headrace.api.error_text import clean_text
from headrace.model.health import Handling, Progress, Stage, TaskConfigsError, TaskError, TaskFacts
from headrace.model.state import State

_LATELY: Final = 60_000
"""The age up to which a tolerated error, or a restart, makes a task degraded."""
_OFTEN: Final = 3
"""The restarts within the last minute that make a task degraded, whatever it has done since."""
_SILENT: Final = 10_000
"""The age from which an unanswered request for a report makes a task degraded."""
_SLOW: Final = 5_000
"""The time for which a source may commit a transaction, which takes milliseconds; its client waits silently."""
_LONGEST: Final = 300
"""Characters of an error's message in a sentence."""


class Verdict(IntEnum):
    """In ascending order: that of a whole is the worst of its parts."""

    HEALTHY = 0
    DEGRADED = 1
    """It works, or is about to, and an operator should look at its reason."""
    STALLED = 2
    """It has made no progress for the timeout, although it has something to do."""
    FAILED = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task's status, and the facts of the worker that runs it; None if they cannot be had, for ``unknown``."""

    state: str
    trace: str | None = None
    facts: TaskFacts | None = None
    unknown: str = "its worker knows nothing of it"


_ACTIVITIES: Final[Mapping[Stage, str]] = {
    Stage.STARTING: "starting",
    Stage.POLLING: "polling",
    Stage.READING: "reading",
    Stage.CONVERTING: "converting records",
    Stage.PRODUCING: "producing",
    Stage.PUTTING: "putting records",
    Stage.COMMITTING: "committing",
    Stage.STOPPING: "stopping",
    Stage.PAUSED: "pausing",
    Stage.WAITING_FOR_CORES: "waiting for a core",
}
_BLOCKING: Final = frozenset(_ACTIVITIES) - {Stage.READING, Stage.PAUSED, Stage.STOPPING, Stage.WAITING_FOR_CORES}
"""Stages that end with every batch: one that lasts is a call that blocks. A sink reads until there are records."""

_Rule = Callable[[TaskView, TaskFacts, int], str | None]


def verdict(task: TaskView, timeout: int) -> Judgement:
    """Return the verdict with the reason, a sentence. ``timeout`` is ``task.stalled.timeout.ms``."""
    if (by_state := _by_state(task)) is not None:
        return by_state
    if task.facts is None:
        return Judgement(Verdict.DEGRADED, _sentence(f"how it fares is not known: {task.unknown}"))
    for found, rule in _RULES:
        if (why := rule(task, task.facts, timeout)) is not None:
            return Judgement(found, _sentence(why))
    return Judgement(
        Verdict.HEALTHY, _sentence(f"it is {_ACTIVITIES[task.facts.progress.stage]}, and nothing is wrong")
    )


def connector_verdict(state: str, trace: str | None, error: TaskConfigsError | str | None = None) -> Judgement:
    """Return the verdict about a connector itself, without its tasks.

    ``error`` is that of its task configurations; a text is the reason why it cannot be had.
    """
    by_state = _by_state(TaskView(state, trace))
    if by_state is not None:
        return by_state
    if state == State.RESTARTING.value:
        return Judgement(Verdict.DEGRADED, "It is being restarted.")
    if isinstance(error, str):
        return Judgement(Verdict.DEGRADED, _sentence(f"how it fares is not known: {error}"))
    if error is not None:
        times = "once" if error.attempts == 1 else f"{error.attempts} times"
        failed = f"{error.stage} its task configurations has failed {times}, since {_time(error.since)} ago"
        return Judgement(
            Verdict.DEGRADED, _sentence(f"{failed}: {error.error_class}: {clean_text(error.message, _LONGEST)}")
        )
    return Judgement(Verdict.HEALTHY, "It runs.")


def worst(parts: Iterable[tuple[str, Judgement]]) -> Judgement:
    """Return the worst judgement of named parts, with the part's name; that of the first of several."""
    name, judgement = max(parts, key=lambda part: part[1].verdict)
    if judgement.verdict is Verdict.HEALTHY:
        return Judgement(Verdict.HEALTHY, "The connector and its tasks are healthy.")
    return Judgement(judgement.verdict, f"{name}: {judgement.why}")


def _by_state(task: TaskView) -> Judgement | None:
    match task.state:
        case State.FAILED.value:
            return Judgement(Verdict.FAILED, _sentence(f"it has failed: {headline(task.trace)}"))
        case State.PAUSED.value:
            return Judgement(Verdict.HEALTHY, "It is paused, as a user has asked for.")
        case State.STOPPED.value:
            return Judgement(Verdict.HEALTHY, "It is stopped, as a user has asked for.")
        case State.UNASSIGNED.value | State.DESTROYED.value:
            return Judgement(Verdict.DEGRADED, "No worker runs it at the moment.")
    return None


def headline(trace: str | None) -> str:
    """Return the line of a trace that says what was wrong: the first, or the last of a bare stack trace."""
    lines = [line.strip() for line in (trace or "").splitlines() if line.strip()]
    if not lines:
        return "the reason is not known"
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


# ---- the rules, in order: the first that has something to say decides


def _waiting(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    if facts.progress.stage is not Stage.WAITING_FOR_CORES:
        return None
    reason = f": {headline(task.trace)}" if task.trace else ""
    return f"it has been waiting for a core for {_time(facts.progress.stage_since)}{reason}"


def _restarting(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    if task.state != State.RESTARTING.value:
        return None
    return f"it is being restarted: {headline(facts.restart_reason or task.trace)}"


def _silent_for_long(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    return _unanswered(facts, timeout)


def _silent(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    return _unanswered(facts, _SILENT)


def _unanswered(facts: TaskFacts, least: int) -> str | None:
    """Return the sentence if a request is unanswered for at least so many ms."""
    if facts.silent is None or facts.silent < least:
        return None
    return f"its process has not answered for {_time(facts.silent)}"


def _retried_for_long(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    since = _retrying_since(facts)
    return None if since is None or since < timeout else _retried(task, facts, timeout)


def _retried(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    since, error = _retrying_since(facts), facts.last_error
    if since is None or error is None:
        return None
    return f"{_ACTIVITIES[error.stage]} has failed and been retried for {_time(since)}: {_text(error)}"


def _blocked(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    stage, since = facts.progress.stage, facts.progress.stage_since
    if facts.silent is not None or stage not in _BLOCKING or since < timeout:
        return None
    return f"it has been {_ACTIVITIES[stage]} for {_time(since)}, in one call that does not return"


def _transaction(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    progress = facts.progress
    allowed = timeout + (progress.transaction_interval or 0)
    if progress.transaction_open is None or _unmoved(facts, progress.last_record, progress.last_commit) < allowed:
        return None
    return f"its transaction has been open for {_time(progress.transaction_open)}, without a record or a commit lately"


def _lagging(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    progress = facts.progress
    behind = {where: lag for where, lag in (facts.lag or {}).items() if lag}
    if not behind or progress.lag_since is None:
        return None
    # After an idle hour the last record is old, and what is new need not be late.
    unmoved = min(progress.lag_since, _unmoved(facts, progress.last_record, progress.last_commit))
    if unmoved < timeout:
        return None
    where, total = max(behind, key=lambda each: behind[each]), sum(behind.values())
    records = "record" if total == 1 else "records"
    return (
        f"it is {total} {records} behind, {behind[where]} of them in {where}, and has put and committed nothing for "
        f"{_time(unmoved)}"
    )


def _unread(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    lag, since = facts.progress.lag, facts.progress.lag_since
    if lag is None or since is None:
        return None
    unmoved = min(since, _unmoved(facts, facts.progress.last_record))
    if unmoved < timeout:
        return None
    where = max(lag.partitions, key=lambda each: lag.partitions[each])
    return (
        f"it is {lag.total} {lag.unit.value} behind, {lag.partitions[where]} of them in {where}, and has read nothing "
        f"for {_time(unmoved)}"
    )


def _slow_commit(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    progress = facts.progress
    if progress.stage is not Stage.COMMITTING or progress.transaction_open is None or progress.stage_since < _SLOW:
        return None
    since = _time(progress.stage_since)
    return f"it has been committing a transaction for {since}: do the brokers of bootstrap.servers answer?"


def _tolerated(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    error = facts.last_error
    if error is None or error.handling is not Handling.TOLERATED or (facts.error_age or 0) >= _LATELY:
        return None
    return f"it skipped a record {_time(facts.error_age)} ago, as errors.tolerance allows: {_text(error)}"


def _restarted_often(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    # Whatever is committed between two restarts: tasks that fence each other commit as well.
    if facts.restarts_lately < _OFTEN:
        return None
    return f"it was restarted {facts.restarts_lately} times within the last minute: {headline(facts.restart_reason)}"


def _restarted(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    age = facts.restart_age
    if age is None or age >= _LATELY or _newest(facts.progress.last_record, facts.progress.last_commit) < age:
        return None
    return f"it was restarted {_time(age)} ago: {headline(facts.restart_reason)}"


def _restarted_after_failure(task: TaskView, facts: TaskFacts, timeout: int) -> str | None:
    error, age = facts.last_error, facts.attempt
    if error is None or error.handling is not Handling.FAILED or age >= _LATELY or (facts.error_age or 0) < age:
        return None
    if _newest(facts.progress.last_record, facts.progress.last_commit) < age:
        return None
    return f"it was restarted {_time(age)} ago, after it had failed: {_text(error)}"


_RULES: Final[tuple[tuple[Verdict, _Rule], ...]] = (
    (Verdict.DEGRADED, _waiting),
    (Verdict.DEGRADED, _restarting),
    (Verdict.STALLED, _silent_for_long),
    (Verdict.STALLED, _retried_for_long),
    (Verdict.STALLED, _blocked),
    (Verdict.STALLED, _transaction),
    (Verdict.STALLED, _lagging),
    (Verdict.STALLED, _unread),
    (Verdict.DEGRADED, _retried),
    (Verdict.DEGRADED, _silent),
    (Verdict.DEGRADED, _slow_commit),
    (Verdict.DEGRADED, _tolerated),
    (Verdict.DEGRADED, _restarted_often),
    (Verdict.DEGRADED, _restarted),
    (Verdict.DEGRADED, _restarted_after_failure),
)


# ---- progress


def _retrying_since(facts: TaskFacts) -> int | None:
    """Return the age of the first of the retried errors that continue; None if there is none, or progress since."""
    error = facts.last_error
    if error is None or error.handling is not Handling.RETRIED or facts.error_age is None:
        return None
    # The next attempt starts over: what was under way may have been committed in spite of the error.
    former = facts.error_age > facts.attempt
    proof = _newest(*_proofs(Stage.POLLING if former else error.stage, facts.progress))
    if proof < facts.error_age:
        return None
    return min(max(facts.error_age, facts.error_since or 0), proof)


def _proofs(stage: Stage, progress: Progress) -> tuple[int | None, ...]:
    """Return the ages of what shows that an error in a stage is over.

    Of a sink that puts its batch again, commits prove nothing: they are of batches before. Nor do records that were
    given to a producer without brokers, which keeps them, or commits that were answered before the brokers were lost.
    """
    match stage:
        case Stage.READING:
            return (progress.last_poll,)
        case Stage.COMMITTING | Stage.PRODUCING:
            return (progress.last_commit,)
        case Stage.PUTTING:
            return (progress.last_record,)
        case Stage.CONVERTING:
            return (progress.last_record, progress.last_commit)
        case _:
            return (progress.last_poll, progress.last_record, progress.last_commit)


def _newest(*ages: int | None) -> int:
    """Return the least age; one greater than all if none is known."""
    return min((age for age in ages if age is not None), default=_NEVER)


_NEVER: Final = 2**62


def _unmoved(facts: TaskFacts, *ages: int | None) -> int:
    """Return the time without any of these, which begins with the attempt at the latest."""
    return min(_newest(*ages), facts.attempt)


# ---- words


def _text(error: TaskError) -> str:
    hint = f" ({error.hint})" if error.hint else ""
    return f"{error.error_class}: {clean_text(error.message, _LONGEST)}{hint}"


def _time(ms: int | None) -> str:
    seconds = (ms or 0) / 1000
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _sentence(text: str) -> str:
    text = text.rstrip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
