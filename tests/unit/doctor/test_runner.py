# SPDX-License-Identifier: Apache-2.0
"""The runs of checks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from headrace.doctor.checks import CHECKS
from headrace.doctor.findings import Finding, Level, has_problem, ok
from headrace.doctor.runner import Check, run_checks
from headrace.doctor.subject import Subject


def test_a_check_that_hangs_and_one_that_fails_leave_the_others_alone() -> None:
    never = threading.Event()

    def hangs(subject: Subject) -> Iterator[Finding]:
        never.wait()
        yield ok("late")

    def fails(subject: Subject) -> Iterator[Finding]:
        raise ValueError("broken")

    checks = (
        Check("hangs", hangs, 0.2),
        Check("fails", fails),
        Check("is silent", lambda subject: ()),
        Check("works", lambda subject: [ok("fine")]),
    )
    results = run_checks(checks, Subject())
    never.set()
    assert [(each.check, each.findings[0].level) for each in results] == [
        ("hangs", Level.WARNING),
        ("fails", Level.PROBLEM),
        ("works", Level.OK),
    ]
    assert "no result within 0.2 s" in results[0].findings[0].found
    assert "broken" in results[1].findings[0].found
    assert has_problem(results) and not has_problem(results[2:])


def test_every_check_has_a_name_of_its_own_and_ends_in_seconds() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert max(check.seconds for check in CHECKS) <= 20
