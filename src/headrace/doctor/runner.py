# SPDX-License-Identifier: Apache-2.0
"""The runs of all checks, each on a thread of its own with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headrace.api.error_text import error_line
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
    started = time.monotonic()
    runs = [_Run(check, subject) for check in checks]
    results = [run.result(started) for run in runs]
    return tuple(result for result in results if result.findings)


class _Run:
    def __init__(self, check: Check, subject: Subject) -> None:
        self._check = check
        self._findings: tuple[Finding, ...] | None = None
        self._thread = threading.Thread(target=self._run, args=(subject,), name=f"check-{check.name}", daemon=True)
        self._thread.start()

    def _run(self, subject: Subject) -> None:
        try:
            self._findings = tuple(self._check.run(subject))
        except Exception as error:  # one check that fails must not hide the others
            remedy = "report it with the command's output: the check itself has failed"
            self._findings = (problem(f"the check failed: {error_line(error)}", remedy),)

    def result(self, started: float) -> CheckResult:
        self._thread.join(max(0.0, started + self._check.seconds - time.monotonic()))
        findings = self._findings
        if findings is None:
            late = f"no result within {self._check.seconds:g} s"
            findings = (warning(late, "run it again; if that does not help, check what it looks at by hand"),)
        return CheckResult(self._check.name, findings)
