# SPDX-License-Identifier: Apache-2.0
"""The runs of all checks, each on a thread of its own with a deadline, so that none holds up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from headrace.api.error_text import error_line
from headrace.doctor.findings import CheckResult, Finding, problem, warning
from headrace.doctor.subject import Subject

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class TimedCall(Generic[_Result]):
    """A call that must not raise, the seconds that it may take, and the result of one that takes longer."""

    call: Callable[[], _Result]
    seconds: float
    late: _Result


def call_all(calls: Sequence[TimedCall[_Result]]) -> list[_Result]:
    """Make all calls at once, and return their results in order. Blocks for the longest of their times at most.

    Not an executor: Python waits for its threads at the exit, and a look-up of a name can hang for minutes.
    """
    results = [each.late for each in calls]

    def run(index: int) -> None:
        results[index] = calls[index].call()

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(calls))]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    found = []
    for index, thread in enumerate(threads):
        thread.join(max(0.0, started + calls[index].seconds - time.monotonic()))
        found.append(results[index])
    return found


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its name in reports, its function, and the time in seconds that it may take."""

    name: str
    run: Callable[[Subject], Iterable[Finding]]
    seconds: float = 5.0


def run_checks(checks: Sequence[Check], subject: Subject) -> tuple[CheckResult, ...]:
    """Run all checks at once, and return their results in the order of ``checks``; one without findings is left out.

    Blocks for the longest of the checks' times at most: a check that takes longer has a warning as its result, and its
    thread ends with the process.
    """
    calls = [TimedCall(partial(_findings, check, subject), check.seconds, _late(check)) for check in checks]
    results = [CheckResult(check.name, found) for check, found in zip(checks, call_all(calls), strict=True)]
    return tuple(result for result in results if result.findings)


def _findings(check: Check, subject: Subject) -> tuple[Finding, ...]:
    try:
        return tuple(check.run(subject))
    except Exception as error:  # one check that fails must not hide the others
        remedy = "report it with the command's output: the check itself has failed"
        return (problem(f"the check failed: {error_line(error)}", remedy),)


def _late(check: Check) -> tuple[Finding, ...]:
    late = f"no result within {check.seconds:g} s"
    return (warning(late, "run it again; if that does not help, check what it looks at by hand"),)
