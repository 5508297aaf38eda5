# SPDX-License-Identifier: Apache-2.0
"""What the status says about the end of a process that was lost."""

from __future__ import annotations

import pytest

from headrace.model.process_end import ExitCalled
from headrace.spark.task.process_death import Death

HALTED = ": it ended by itself with status 3, as after System.exit or Runtime.halt in Java, or exit in a native library"
KILLED = ": it was killed, by a lack of memory for instance,"


@pytest.mark.parametrize(
    "death, in_java, text",
    [
        (Death(ExitCalled("A.b (A.java:7)"), 3, True), True, ", as A.b (A.java:7) called System.exit(3)"),
        (Death(ExitCalled("A.b (A.java:7)")), True, ", as A.b (A.java:7) called System.exit"),
        (Death(ExitCalled(None), 0, True), False, ", as Java code called System.exit(0)"),
        (Death(None, 3, True), True, HALTED),
        (Death(None, 3, True), False, HALTED),
        (Death(None, None, True), True, f"{KILLED} or has crashed"),
        (Death(), True, f"{KILLED} has crashed, or called Runtime.halt"),
        (Death(None, None, True), False, ""),
        (Death(), False, ""),
    ],
)
def test_what_is_known(death: Death, in_java: bool, text: str) -> None:
    assert death.text(in_java) == text


@pytest.mark.parametrize(
    "death, by_plugin",
    [
        (Death(ExitCalled("A.b (A.java:7)"), 3, True), True),
        (Death(ExitCalled("A.b (A.java:7)")), True),
        (Death(ExitCalled(None), 3, True), False),
        (Death(None, 3, True), False),
        (Death(None, None, True), False),
    ],
)
def test_a_plugin_has_ended_it_if_its_method_is_known(death: Death, by_plugin: bool) -> None:
    assert death.by_plugin is by_plugin
