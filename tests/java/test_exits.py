# SPDX-License-Identifier: Apache-2.0
"""Messages of a process that Java code ends, however that code was called."""

from __future__ import annotations

import subprocess
import sys
import time

BEGIN = """
import ctypes, os, threading, time
from headrace.java import exits, jvm
from headrace.java.jvm import java_class
from headrace.model.process_end import exits_reported

def tell(caller):
    os.write(1, f"called by {caller}".encode())

def exit_by_a_thread_of_java():
    system, thread = java_class("java.lang.System"), java_class("java.lang.Thread")
    kind = exits._method_type(java_class("java.lang.Void").TYPE, java_class("java.lang.Integer").TYPE)
    lookup = java_class("java.lang.invoke.MethodHandles").publicLookup()
    handle = lookup.findStatic(system.class_, "exit", kind)
    handle = java_class("java.lang.invoke.MethodHandles").insertArguments(handle, 0, java_class("java.lang.Integer")(3))
    runnable = java_class("java.lang.Runnable").class_
    run = java_class("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(runnable, handle)
    thread(run).start()

jvm.start()
"""
LINE = "WARN headrace.java - Java code has called System.exit, which ends this process\n"
HANGS_S = 20.0
"""Seconds that a process lasts whose report hangs: five for the report, and those of its start."""


def run(script: str) -> tuple[int, str, str]:
    command = [sys.executable, "-c", BEGIN + script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr


def test_an_exit_is_printed_and_reported() -> None:
    by_python = "with exits_reported(tell): java_class('java.lang.System').exit(3)"
    assert run(by_python) == (3, "called by None", LINE)
    by_java = "with exits_reported(tell): exit_by_a_thread_of_java(); time.sleep(50)"
    status, told, printed = run(by_java)
    assert (status, printed) == (3, LINE)
    assert told.startswith("called by java.lang.")


def test_a_halt_is_not() -> None:
    script = "with exits_reported(tell): java_class('java.lang.Runtime').getRuntime().halt(3)"
    assert run(script) == (3, "", "")


def test_a_report_waits_for_pythons_lock() -> None:
    script = "with exits_reported(tell): exit_by_a_thread_of_java(); ctypes.PyDLL(None).sleep(1); time.sleep(50)"
    status, told, _ = run(script)
    assert (status, told[:20]) == (3, "called by java.lang.")


def test_a_report_that_hangs_does_not_keep_the_process() -> None:
    script = "with exits_reported(lambda caller: time.sleep(50)): java_class('java.lang.System').exit(3)"
    begun = time.monotonic()
    assert run(script) == (3, "", LINE)
    assert time.monotonic() - begun < HANGS_S
