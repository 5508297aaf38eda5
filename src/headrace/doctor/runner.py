# SPDX-License-Identifier: Apache-2.0
"""The runs of all checks, each on a thread of its own with a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from headrace.api.error_text import error_line
from headrace.doctor.at_once import TimedCall, call_all
from headrace.doctor.findings import CheckResult, Finding, problem, warning
from headrace.doctor.subject import Subject


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
