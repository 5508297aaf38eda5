# SPDX-License-Identifier: Apache-2.0
"""The machine of a task's attempts: transcripts of what it orders, and what holds whatever happens in whatever order.

In a transcript a ``>`` line is an event with the phases that the launch goes through; the lines under it are actions.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.spark.task import attempt_machine
from headrace.spark.task.attempt_actions import (
    Answer,
    AskWorker,
    AttemptAction,
    AwaitExit,
    BackOff,
    CancelJob,
    Dismiss,
    Finish,
    Notify,
    Send,
    SendStart,
    Serve,
    SubmitJob,
)
from headrace.spark.task.attempt_events import (
    Attached,
    AttemptEvent,
    Begin,
    CannotStart,
    Committed,
    ConfirmAsked,
    Confirmed,
    Died,
    Done,
    FrameJobsEnded,
    JobEnded,
    Kill,
    ProcessGone,
    SetPaused,
    Stop,
    Waited,
)
from headrace.spark.task.attempt_machine import IllegalAttemptMoveError, step
from headrace.spark.task.attempt_state import AttemptState, Phase
from headrace.task.task_protocol import AttemptStarted, Command, Ended, Failed, Outcome, Restarting
from tests.tiers import examples

WORDLESS = Ended(Outcome.TAINTED, "its Spark job ended without a word")
STOPPED, ABANDONED = Ended(Outcome.STOPPED), Ended(Outcome.ABANDONED)
FAILED, TAINTED = Ended(Outcome.FAILED, "the trace"), Ended(Outcome.TAINTED, "who knows")


class Stage:
    """A launch, with the transcript of what happens."""

    def __init__(self, *, paused: bool = False) -> None:
        self.state = AttemptState(paused)
        self.lines: list[str] = []
        self._processes = 0

    def say(self, comment: str) -> None:
        self.lines.append(f"# {comment}")

    def happen(self, *happened: AttemptEvent) -> None:
        for event in happened:
            before = len(self.state.history)
            self.state, actions = step(self.state, event)
            phases = [phase.name for phase in self.state.history[before - 1 :]]
            self.lines.append(f"> {show(event)}" + (f"  [{' → '.join(phases)}]" if len(phases) > 1 else ""))
            self.lines += [f"    {show(action)}" for action in actions]

    def attach(self) -> int:
        """Have another process attach; return its number."""
        number = self._processes
        self._processes += 1
        self.happen(Attached(number, 100 + number))
        return number

    def running(self) -> int:
        """Begin, and have the first process become an attempt; return its number."""
        self.happen(Begin())
        return self.attach()

    def lose(self, process: int) -> None:
        self.happen(ProcessGone(process), FrameJobsEnded(process))

    def wait_over(self) -> None:
        self.happen(Waited(self.state.waits))


def show(value: object) -> str:
    """An event or action as one line."""
    match value:
        case Notify(event):
            return f"Notify({show(event)})"
        case Ended(outcome, reason):
            return f"{outcome.name}{f': {reason}' if reason else ''}"
        case Command():
            return value.name
    shown = ((field.name, getattr(value, field.name)) for field in fields(value))  # type: ignore[arg-type]
    parts = (f"{name}={show(each) if isinstance(each, (Ended, Command)) else each!r}" for name, each in shown)
    return f"{type(value).__name__}({', '.join(parts)})"


Golden = Callable[[Stage], None]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a transcript with ``<test name>.txt``; ``GOLDEN=write`` writes it instead, to be read over."""
    path = Path(request.path).parent / "golden" / f"{request.node.name.removeprefix('test_')}.txt"

    def compare(played: Stage) -> None:
        text = "\n".join(played.lines) + "\n"
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return compare


def test_started_run_and_stopped(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(ConfirmAsked(first, 7), Confirmed(first, None, 7), Stop(), Done(first, STOPPED))
    s.lose(first)
    s.happen(JobEnded(WORDLESS))
    golden(s)


def test_a_lost_process_is_followed_by_the_next_attempt(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.lose(first)
    s.say("the first loss costs no time; before its GO the follower does not even get its task")
    second = s.attach()
    s.wait_over()
    s.happen(Confirmed(second, None))
    s.say("each further one costs more, until offsets are committed")
    s.lose(second)
    third = s.attach()
    s.wait_over()
    s.happen(Confirmed(third, None), Committed())
    s.lose(third)
    s.attach()
    golden(s)


def test_the_restart_says_what_is_known_of_the_end_of_a_process() -> None:
    s = Stage()
    first = s.running()
    s.happen(Died(first, ": it was killed"))
    s.lose(first)
    assert s.lines[-1].strip().startswith("Notify(Restarting(reason='its process 100 was lost: it was killed',")
    second = s.attach()
    s.happen(Died(first, ", too late"))
    s.wait_over()
    s.happen(Confirmed(second, None))
    s.lose(second)
    assert s.lines[-1].strip().startswith("Notify(Restarting(reason='its process 101 was lost',")


def test_a_process_that_a_plugin_has_ended(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(Died(first, ", as A.b called System.exit(3)", by_plugin=True))
    s.lose(first)
    s.say("a process that Spark has started in its place meanwhile is sent away")
    s.attach()
    s.happen(JobEnded(Ended(Outcome.TAINTED, "cancelled")))
    golden(s)


@pytest.mark.parametrize("reported", [STOPPED, TAINTED, ABANDONED])
def test_a_plugin_ends_the_process_after_its_outcome(reported: Ended) -> None:
    s = Stage()
    first = s.running()
    s.happen(Done(first, reported), Died(first, ", as A.b called System.exit(3)", by_plugin=True))
    assert s.state.ended == reported
    assert not any("CancelJob" in line for line in s.lines)


def test_a_lost_job_is_followed_by_the_next_one(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.lose(first)
    s.happen(JobEnded(Ended(Outcome.TAINTED, "maxFailures")))
    s.say("between two jobs no process is admitted")
    s.attach()
    s.wait_over()
    second = s.attach()
    s.happen(Confirmed(second, None), Done(second, Ended(Outcome.FENCED, "fenced")))
    s.lose(second)
    s.say("a process that Spark starts though the outcome is known is sent away")
    s.attach()
    s.happen(JobEnded(WORDLESS))
    golden(s)


def test_killed_while_a_confirmation_is_pending(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(ConfirmAsked(first, 7), Kill())
    s.say("the end of the process is noticed while the worker is busy answering")
    s.lose(first)
    s.happen(JobEnded(Ended(Outcome.TAINTED, "cancelled")), Confirmed(first, None, 7))
    golden(s)


def test_a_follower_is_not_waited_for_when_the_task_is_to_stop(golden: Golden) -> None:
    s = Stage()
    s.lose(s.running())
    second = s.attach()
    s.wait_over()
    s.happen(Stop(), Confirmed(second, None), JobEnded(WORDLESS))
    golden(s)


def test_two_processes_attach_at_once(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    second, _ = s.attach(), s.attach()
    s.lose(first)
    s.wait_over()
    s.say("the third one replaces the second at once")
    s.happen(Confirmed(second, None))
    s.lose(second)
    golden(s)


def test_a_former_attempt_that_does_not_end(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.attach()
    s.wait_over()
    s.say("the attempt goes on as it was, and can still be stopped")
    s.happen(Stop(), Done(first, STOPPED))
    golden(s)


def test_refused_for_good(golden: Golden) -> None:
    s = Stage()
    s.lose(s.running())
    second = s.attach()
    s.wait_over()
    s.happen(Confirmed(second, Ended(Outcome.FAILED, "no ACL\nfor the topic")))
    s.say("whatever else attaches is sent away, too")
    s.attach()
    s.happen(JobEnded(WORDLESS))
    golden(s)


def test_taken_away(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(ConfirmAsked(first, 7), Confirmed(first, ABANDONED, 7), Done(first, ABANDONED))
    s.lose(first)
    s.happen(JobEnded(WORDLESS))
    golden(s)


def test_the_worker_cannot_find_out(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    away = Ended(Outcome.TAINTED, "the config topic is away")
    s.happen(ConfirmAsked(first, 7), Confirmed(first, away, 7), Done(first, TAINTED))
    s.lose(first)
    s.happen(JobEnded(WORDLESS))
    s.wait_over()
    second = s.attach()
    s.happen(Confirmed(second, away), JobEnded(WORDLESS))
    golden(s)


def test_the_engine_is_away_and_comes_back(golden: Golden) -> None:
    s = Stage()
    s.happen(Begin(), CannotStart("Spark is not running: no route"), CannotStart("no core"))
    s.attach()
    s.say("too late to mean anything")
    s.happen(CannotStart("no core"))
    golden(s)


def test_the_breaker_refuses_the_job(golden: Golden) -> None:
    s = Stage()
    s.happen(Begin(), JobEnded(Ended(Outcome.FAILED, "frame jobs of connector c have ended Spark 2 times")))
    golden(s)


def test_stopped_while_it_backs_off(golden: Golden) -> None:
    s = Stage()
    s.happen(Begin(), JobEnded(Ended(Outcome.TAINTED, "the JVM of Spark died")), Stop(), Waited(1))
    golden(s)


def test_killed_while_a_lost_process_is_started_again(golden: Golden) -> None:
    s = Stage()
    s.lose(s.running())
    s.attach()
    s.attach()
    s.happen(Kill(), Waited(1), JobEnded(Ended(Outcome.TAINTED, "cancelled")))
    golden(s)


def test_the_thread_of_the_job_dies(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(JobEnded(Ended(Outcome.FAILED, "The worker's thread that runs the task died of Poison"), died=True))
    s.wait_over()
    s.lose(first)
    golden(s)


def test_the_thread_of_the_job_dies_while_it_stops(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(Stop(), Done(first, STOPPED))
    s.lose(first)
    s.say("its status must say so all the same")
    s.happen(JobEnded(Ended(Outcome.FAILED, "The worker's thread that runs the task died of Poison"), died=True))
    golden(s)


def test_paused_before_a_process_attaches(golden: Golden) -> None:
    s = Stage()
    s.happen(Begin(), SetPaused(True))
    s.attach()
    s.happen(SetPaused(False), SetPaused(True))
    golden(s)


def test_a_process_attaches_after_the_stop(golden: Golden) -> None:
    s = Stage()
    s.happen(Begin(), Stop())
    s.attach()
    s.happen(JobEnded(WORDLESS))
    s.attach()
    s.happen(Stop(), Kill(), SetPaused(True), CannotStart("no core"))
    golden(s)


def test_stopped_before_it_begins(golden: Golden) -> None:
    s = Stage()
    s.attach()
    s.happen(Stop(), Begin())
    golden(s)


def test_a_job_that_ends_before_its_process(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(JobEnded(Ended(Outcome.TAINTED, "executor lost")))
    s.say("a process of a job that is over becomes no attempt")
    s.attach()
    s.wait_over()
    s.lose(first)
    golden(s)


def test_a_failure_while_it_stops_is_only_logged(golden: Golden) -> None:
    s = Stage()
    first = s.running()
    s.happen(Stop(), Done(first, FAILED))
    s.lose(first)
    s.happen(JobEnded(WORDLESS))
    golden(s)


@pytest.mark.parametrize("state", [AttemptState(), step(AttemptState(stopping=True), Begin())[0]], ids=["new", "ended"])
def test_a_move_that_is_not_declared_raises(state: AttemptState) -> None:
    history = " → ".join(phase.name for phase in state.history)
    with pytest.raises(IllegalAttemptMoveError) as raised:
        step(state, JobEnded(WORDLESS))
    message = f"a launch cannot go from {state.phase.name} to the end of a job; history: {history}"
    assert str(raised.value) == message


def test_the_table_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {**attempt_machine.TRANSITIONS, Phase.SUBMITTED: frozenset({Phase.ENDED})}
    monkeypatch.setattr(attempt_machine, "TRANSITIONS", table)
    with pytest.raises(IllegalAttemptMoveError, match="from SUBMITTED to RUNNING; history: NEW → SUBMITTED"):
        Stage().running()


# ---- whatever happens


class World:
    """Spark, processes, clock, worker and user around one launch, and the rules that hold for it at every moment."""

    def __init__(self) -> None:
        self.state = AttemptState()
        self.moves: set[tuple[Phase, Phase]] = set()
        self._begun = self._stopped = self._finished = self._failed = False
        self._job = False
        self._jobs = 0
        self._outcome: Ended | None = None
        """The job's, as far as it is known; a refusal is one."""
        self._waiting: list[int] = []
        self._served: int | None = None
        self._settling: int | None = None
        self._attempts = 0
        self._confirmed: set[int] = set()
        self._questions: list[tuple[int, int | None]] = []
        self._asked: list[int] = []
        self._wait: AttemptAction | None = None
        self._to_wait = False
        """True if a wait has to come before the next attempt of this job."""
        self._backoffs = 0
        self._paused_there = False
        self._numbers = iter(range(1_000_000))

    # ---- what may happen

    def possible(self) -> Sequence[AttemptEvent]:
        """All events that may come now, those that come too late among them; more often what leads far."""
        often = [*self._of_spark(), *self._of_processes()]
        return [*self._anytime(), *self._last(), *often * 12]

    def _anytime(self) -> list[AttemptEvent]:
        some: list[AttemptEvent] = [Committed(), CannotStart("no core"), SetPaused(not self.state.paused)]
        return [*some, Waited(self.state.waits - 1), Confirmed(10**6, None), Done(10**6, STOPPED)]

    def _last(self) -> list[AttemptEvent]:
        """Events after which not much can follow."""
        some: list[AttemptEvent] = [Stop(), Kill()]
        if self._job:
            some += [JobEnded(WORDLESS)] * 6
            some += [JobEnded(Ended(Outcome.FAILED, "refused")), JobEnded(FAILED, died=True)]
        if self._served is not None:
            some += [Done(self._served, ended) for ended in (STOPPED, TAINTED, TAINTED, FAILED)]
            some += [Died(self._served, ", as A.b called System.exit", by_plugin=True)]
        for process, question in self._questions:
            some += [Confirmed(process, refusal, question) for refusal in (ABANDONED, FAILED, TAINTED, TAINTED)]
        return some

    def _of_spark(self) -> list[AttemptEvent]:
        return [Attached(next(self._numbers), 0)] if self._begun else [Begin()]

    def _of_processes(self) -> list[AttemptEvent]:
        some: list[AttemptEvent] = [Confirmed(process, None, question) for process, question in self._questions]
        if self._wait is not None:
            some.append(Waited(self.state.waits))
        if self._served is not None:
            some += [ConfirmAsked(self._served, 1), Died(self._served, ", as was said"), ProcessGone(self._served)]
        if self._settling is not None:
            some += [FrameJobsEnded(self._settling)] * 2
        return some

    # ---- what happens

    def happen(self, event: AttemptEvent) -> None:
        before = self.state.history
        self._note(event)
        self.state, actions = step(self.state, event)
        self.moves |= moves(before, self.state.history)
        for number, action in enumerate(actions):
            assert not self._finished or isinstance(action, (Dismiss, CancelJob)), "nothing follows the end"
            self._check(action, actions[:number])
        self._check_all()

    def _note(self, event: AttemptEvent) -> None:
        match event:
            case Begin():
                self._begun = True
            case Stop() | Kill():
                self._stopped = True
            case JobEnded():
                self._job = False
            case Attached(process):
                self._waiting.append(process)
            case Committed():
                self._backoffs = 0
            case Done(process, ended) if process == self._served:
                self._outcome = ended
            case Died(process, _, by_plugin=True) if process == self._served:
                self._outcome = self._outcome or FAILED
            case ProcessGone(process):
                assert process == self._served
                self._served, self._settling = None, process
            case FrameJobsEnded():
                self._settling = None
                self._to_wait = self._outcome is None and not self._stopped
            case ConfirmAsked(process):
                self._asked.append(process)
            case Confirmed(process, refusal, question):
                self._note_confirmed(process, refusal, question)
            case Waited(wait) if wait == self.state.waits and self._wait is not None:
                self._to_wait = self._to_wait and not isinstance(self._wait, BackOff)
                self._wait = None

    def _note_confirmed(self, process: int, refusal: Ended | None, question: int | None) -> None:
        if (process, question) in self._questions:
            self._questions.remove((process, question))
        if question is None and process in self._waiting:
            self._confirmed |= {process} if refusal is None else set()
            self._outcome = self._outcome or refusal

    def _check(self, action: AttemptAction, before: Sequence[AttemptAction]) -> None:
        match action:
            case SubmitJob():
                assert not self._job and not self._stopped, "one job at a time, none after a stop"
                assert self._no_attempt_lives(), "no job while an attempt lives"
                assert self._wait is None and (self._jobs == 0 or not self._to_wait), "no job without a wait"
                self._job, self._jobs, self._outcome, self._to_wait = True, self._jobs + 1, None, False
            case SendStart(process, paused):
                assert paused == self.state.paused
                self._paused_there = paused
                assert process in self._waiting, "no process that was sent away gets a task"
            case Serve(process):
                self._check_served(process, before)
            case Dismiss(process):
                self._waiting.remove(process)  # once, and none that was sent its task
            case Notify(event):
                assert self._no_attempt_lives(), "only an attempt's own thread notifies while it lives"
                assert not self._failed, "only the end follows a failure"
                self._failed = isinstance(event, Failed)
                if isinstance(event, Restarting):
                    assert not self._stopped
            case AskWorker(process, question):
                self._check_asked(process, question)
            case BackOff(_, failures, another_job):
                assert failures == self._backoffs, "longer with each failure since the last commit"
                assert self._job is not another_job
                self._backoffs, self._wait, self._to_wait = self._backoffs + 1, action, True
            case AwaitExit():
                self._wait = action
            case Send(process, command):
                assert process == self._served
                if command in (Command.PAUSE, Command.RESUME):
                    self._paused_there = command is Command.PAUSE
            case Answer(process):
                assert process == self._served
                self._asked.remove(process)
            case Finish():
                assert self._no_attempt_lives() and not self._job, "no process is left"
                self._finished = True

    def _check_served(self, process: int, before: Sequence[AttemptAction]) -> None:
        """Invariant 4."""
        assert self._no_attempt_lives(), "one attempt at a time"
        assert self._job, "none after its job is over"
        assert not self._stopped and self._outcome is None, "none that is not wanted"
        assert not self._to_wait, "none at once after one that was lost"
        assert self._attempts == 0 or process in self._confirmed, "none that follows another without the worker's GO"
        match before[-2:]:
            case [SendStart(number), Notify(AttemptStarted())]:
                assert number == process
            case _:
                raise AssertionError(before)
        self._waiting.remove(process)
        self._served = process
        self._attempts += 1

    def _check_asked(self, process: int, question: int | None) -> None:
        if question is None:
            assert self._no_attempt_lives(), "its answer is of no use before the former attempt has ended"
            # The number of an attempt that is refused is taken, too.
            self._attempts += self._attempts == 0
        assert question is None or process == self._served
        self._questions.append((process, question))

    def _check_all(self) -> None:
        """Rules of every moment between two events."""
        if self._served is not None:
            assert self._paused_there == self.state.paused
            assert self.state.alive is not None and self.state.alive.process == self._served
        assert self.state.without_process <= (self._job and self._no_attempt_lives() and not self._stopped)
        if self._stopped and self._no_attempt_lives():
            assert not self._waiting, "no event waits for a task that is to stop"
        if self._begun and self._stopped and not self._job and self._no_attempt_lives():
            assert self._finished, "a task that is to stop ends with its last process"

    def _no_attempt_lives(self) -> bool:
        return self._served is None and self._settling is None

    def end(self) -> None:
        """Stop it, and have all else come to its end by itself."""
        self.happen(Stop())
        if not self._begun:
            self.happen(Begin())
        if self._served is not None:
            self.happen(ProcessGone(self._served))
        if self._settling is not None:
            self.happen(FrameJobsEnded(self._settling))
        if self._job:
            self.happen(JobEnded(WORDLESS))
        assert self._finished and self.state.phase is Phase.ENDED
        self.happen(Attached(next(self._numbers), 0))
        assert not self._waiting, "each process was sent its task or sent away"


def moves(before: tuple[Phase, ...], after: tuple[Phase, ...]) -> set[tuple[Phase, Phase]]:
    """The moves of one step, by the histories before and after it, which keep the last twenty phases."""
    if after is before:
        return set()
    added = next(n for n in range(1, 6) if (*before, *after[-n:])[-20:] == after)
    return set(pairwise((before[-1], *after[-added:])))


def play(choices: Sequence[int]) -> World:
    world = World()
    for choice in choices:
        possible = world.possible()
        world.happen(possible[choice % len(possible)])
    world.end()
    return world


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(st.integers(0, 2**16), min_size=10, max_size=80))
def test_whatever_happens_in_whatever_order(choices: Sequence[int]) -> None:
    play(choices)


def test_every_declared_move_is_made_and_no_other() -> None:
    chance = random.Random(7)
    made: set[tuple[Phase, Phase]] = set()
    for _ in range(1000):
        made |= play([chance.randrange(2**16) for _ in range(60)]).moves
    assert made == {(start, to) for start, reachable in attempt_machine.TRANSITIONS.items() for to in reachable}
