# SPDX-License-Identifier: Apache-2.0
"""The machine of a launch's attempts, pure: takes state and event, returns state and actions.

Spark starts a process again when one is lost, and may start one while the former still lives. So a process becomes an
attempt only here: one at a time, none after its Spark job is over, and each but a launch's first only after the worker
has confirmed that the task is still its own (invariant 4). While an attempt lives, its channel's thread notifies the
listener; the machine does so only before it is served and after it has ended. So only ``Stopped`` follows ``Failed``,
and nothing follows ``Stopped``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.spark.task import attempt_events as events
from headrace.spark.task.attempt_actions import (
    Answer,
    AskWorker,
    AttemptAction,
    AwaitExit,
    BackOff,
    CancelJob,
    Dismiss,
    Finish,
    KillProcess,
    LogError,
    LogRestart,
    Notify,
    Send,
    SendStart,
    Serve,
    SubmitJob,
)
from headrace.spark.task.attempt_events import AttemptEvent
from headrace.spark.task.attempt_state import WITHOUT_PROCESS, Attempt, AttemptState, Phase, Process
from headrace.task.task_protocol import AttemptStarted, Command, Ended, Failed, Outcome, Restarting, Waiting

_HISTORY: Final = 20


_P = Phase

TRANSITIONS: Final[Mapping[Phase, frozenset[Phase]]] = {
    _P.NEW: frozenset({_P.SUBMITTED, _P.ENDED}),
    _P.SUBMITTED: frozenset({_P.SUBMITTED, _P.RUNNING, _P.BACKING_OFF, _P.CONFIRMING, _P.RESUBMITTING, _P.ENDED}),
    _P.BACKING_OFF: frozenset({_P.CONFIRMING, _P.SUBMITTED, _P.RESUBMITTING, _P.ENDED}),
    _P.CONFIRMING: frozenset({_P.RUNNING, _P.SUBMITTED, _P.RESUBMITTING, _P.ENDED}),
    _P.RUNNING: frozenset({_P.REPLACING, _P.CLOSING, _P.FRAMES_ENDING}),
    _P.REPLACING: frozenset({_P.REPLACING, _P.RUNNING, _P.CLOSING, _P.FRAMES_ENDING}),
    _P.CLOSING: frozenset({_P.FRAMES_ENDING}),
    _P.FRAMES_ENDING: frozenset({_P.SUBMITTED, _P.BACKING_OFF, _P.RESUBMITTING, _P.ENDED}),
    _P.RESUBMITTING: frozenset({_P.SUBMITTED, _P.ENDED}),
    _P.ENDED: frozenset(),
}


class IllegalAttemptMoveError(ConnectError):
    """A move that the table does not have: a defect."""


def step(state: AttemptState, event: AttemptEvent) -> tuple[AttemptState, Sequence[AttemptAction]]:
    """Return what follows from an event; an event that comes too late changes nothing.

    Raise IllegalAttemptMoveError for one that is not possible.
    """
    turn = _Turn(state)
    turn.take(event)
    return turn.state, turn.actions


class _Turn:
    """One step: the state as far as it has come, and the actions so far."""

    def __init__(self, state: AttemptState) -> None:
        self.state = state
        self.actions: list[AttemptAction] = []

    def take(self, event: AttemptEvent) -> None:
        match event:
            case events.Begin():
                self._submit_or_finish()
            case events.SetPaused(paused):
                self._set(paused=paused)
                self._command(Command.PAUSE if paused else Command.RESUME)
            case events.Stop():
                self._set(stopping=True)
                self._command(Command.STOP)
                self._give_up_waiting()
            case events.Kill():
                self._set(stopping=True)
                self._do(CancelJob())
                self._kill_attempt()
                self._give_up_waiting()
            case events.CannotStart(reason):
                if self.state.without_process:
                    self._do(Notify(Waiting(reason)))
            case events.Committed():
                self._set(failures=0)
            case events.Waited(wait):
                if wait == self.state.waits:
                    self._on_waited()
            case events.JobEnded():
                self._on_job_ended(event)
            case _:
                self._take_from_process(event)

    def _take_from_process(self, event: AttemptEvent) -> None:
        match event:
            case events.Attached(process, pid):
                self._on_attached(Process(process, pid))
            case events.ConfirmAsked(process, question) if self._is_alive(process):
                refused = Answer(process, question, Ended(Outcome.ABANDONED))
                self._do(refused if self.state.stopping else AskWorker(process, question))
            case events.Confirmed(process, refusal, None) if self._is_confirmed(process):
                self._on_confirmed(refusal)
            case events.Confirmed(process, refusal, int() as question) if self._is_alive(process):
                self._do(Answer(process, question, refusal))
            case events.Done(process, ended) if self._is_alive(process):
                self._set(ended=ended)
            case events.Died(process, how, by_plugin) if self._is_alive(process):
                assert self.state.attempt is not None
                attempt = replace(self.state.attempt, death=how)
                self._set(attempt=attempt)
                if by_plugin and self.state.ended is None:
                    self._set(ended=Ended(Outcome.FAILED, attempt.loss))
                    self._do(CancelJob())  # or Spark would start another process
            case events.ProcessGone(process) if self._is_alive(process):
                self._move(Phase.FRAMES_ENDING)
            case events.FrameJobsEnded() if self.state.phase is Phase.FRAMES_ENDING:
                self._end_attempt()

    # ---- jobs

    def _submit_or_finish(self) -> None:
        if self.state.stopping:
            self._finish()
            return
        self._set(job_end=None, ended=None, lost=False)
        self._move(Phase.SUBMITTED)
        self._do(SubmitJob())

    def _on_job_ended(self, event: events.JobEnded) -> None:
        if not self.state.job_runs:
            raise self._illegal("the end of a job")
        self._dismiss_all()
        self._set(job_end=event)
        if event.died:
            self._do(CancelJob())
        if self.state.alive is not None:
            self._move(Phase.CLOSING)
            self._await_exit()
        elif self.state.phase is not Phase.FRAMES_ENDING:
            self._end_job(event)

    def _end_job(self, job: events.JobEnded) -> None:
        """Report the outcome of a job of which no attempt is left; another one follows what is uncertain."""
        ended = self.state.ended or job.ended
        if job.died:
            self._do(Notify(Failed(job.ended.reason)))
        elif ended.outcome is Outcome.FAILED:
            self._do(LogError(ended.reason.partition("\n")[0]))
            if not self.state.stopping:
                self._do(Notify(Failed(ended.reason, ended.error)))
        elif ended.outcome not in (Outcome.STOPPED, Outcome.ABANDONED) and not self.state.stopping:
            self._do(LogRestart(ended.reason), Notify(Restarting(ended.reason, ended.outcome, ended.error)))
            self._back_off(Phase.RESUBMITTING)
            return
        self._finish()

    def _finish(self) -> None:
        self._move(Phase.ENDED)
        self._do(Finish())

    # ---- processes that attach

    def _on_attached(self, process: Process) -> None:
        if not self.state.job_runs:
            self._do(Dismiss(process.number))
            return
        self._set(attached=(*self.state.attached, process))
        if self.state.phase is Phase.SUBMITTED:
            self._admit_next()
        elif self.state.phase is Phase.RUNNING:
            self._replace()

    def _admit_next(self) -> None:
        """Have the next process that waits become an attempt, unless none does or none may."""
        state = self.state
        if not state.wanted:
            self._dismiss_all()
        if not self.state.attached:
            self._move(Phase.SUBMITTED)
            return
        self._set(attempts=state.attempts + 1, lost=False)
        if state.attempts == 0:
            self._admit()
        elif state.lost:
            # Spark starts a lost process again at once, which is too often for one that always dies.
            self._back_off(Phase.BACKING_OFF)
        else:
            self._confirm()

    def _confirm(self) -> None:
        # A later process must not fence a successor elsewhere.
        self._move(Phase.CONFIRMING)
        self._do(AskWorker(self.state.attached[0].number))

    def _on_confirmed(self, refusal: Ended | None) -> None:
        if refusal is None:
            self._admit()
            return
        self._set(ended=refusal)
        self._admit_next()

    def _admit(self) -> None:
        process, *others = self.state.attached
        number = self.state.attempts - 1
        self._set(attempt=Attempt(number, process.number, process.pid), attached=tuple(others))
        self._move(Phase.RUNNING)
        self._do(
            SendStart(process.number, self.state.paused),
            Notify(AttemptStarted(number, process.pid)),
            Serve(process.number),
        )
        if others:
            self._replace()

    def _replace(self) -> None:
        self._move(Phase.REPLACING)
        self._kill_attempt(break_off=True)
        self._await_exit()

    def _on_not_replaced(self) -> None:
        """The attempt does not end: the process that was to replace it is sent away."""
        first, *others = self.state.attached
        self._do(Dismiss(first.number))
        self._set(attached=tuple(others))
        if others:
            self._replace()
        else:
            self._move(Phase.RUNNING)

    def _dismiss_all(self) -> None:
        self._do(*(Dismiss(process.number) for process in self.state.attached))
        self._set(attached=())

    # ---- the attempt

    def _is_alive(self, process: int) -> bool:
        alive = self.state.alive
        return alive is not None and alive.process == process

    def _is_confirmed(self, process: int) -> bool:
        return self.state.phase is Phase.CONFIRMING and self.state.attached[0].number == process

    def _command(self, command: Command) -> None:
        if self.state.alive is not None:
            self._do(Send(self.state.alive.process, command))

    def _kill_attempt(self, *, break_off: bool = False) -> None:
        if self.state.alive is not None:
            self._do(KillProcess(self.state.alive.process, break_off))

    def _end_attempt(self) -> None:
        state = self.state
        assert state.attempt is not None
        lost = state.wanted
        self._set(attempt=None, lost=lost)
        if lost:
            self._do(Notify(Restarting(state.attempt.loss)))
        if state.job_end is not None:
            self._end_job(state.job_end)
        else:
            self._admit_next()

    # ---- waits

    def _back_off(self, phase: Phase) -> None:
        self._move(phase)
        self._set(waits=self.state.waits + 1)
        self._do(BackOff(self.state.waits, self.state.failures, phase is Phase.RESUBMITTING))
        self._set(failures=self.state.failures + 1)

    def _await_exit(self) -> None:
        self._set(waits=self.state.waits + 1)
        self._do(AwaitExit(self.state.waits))

    def _on_waited(self) -> None:
        match self.state.phase:
            case Phase.RESUBMITTING:
                self._submit_or_finish()
            case Phase.BACKING_OFF:
                self._confirm()
            case Phase.REPLACING:
                self._on_not_replaced()
            case Phase.CLOSING:
                self._kill_attempt()
                self._await_exit()

    def _give_up_waiting(self) -> None:
        """Wait for nothing more that only an attempt, or another job, is good for: the task is to end."""
        if self.state.phase in WITHOUT_PROCESS:
            self._admit_next()
        elif self.state.phase is Phase.RESUBMITTING:
            self._finish()

    # ---- the turn itself

    def _move(self, to: Phase) -> None:
        if to not in TRANSITIONS[self.state.phase]:
            raise self._illegal(to.name)
        self._set(phase=to, history=(*self.state.history[-_HISTORY + 1 :], to))

    def _illegal(self, to: str) -> IllegalAttemptMoveError:
        history = " → ".join(each.name for each in self.state.history)
        return IllegalAttemptMoveError(f"a launch cannot go from {self.state.phase.name} to {to}; history: {history}")

    def _set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def _do(self, *actions: AttemptAction) -> None:
        self.actions += actions
