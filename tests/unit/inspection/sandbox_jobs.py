# SPDX-License-Identifier: Apache-2.0
"""Jobs for ``test_sandbox``, which behave badly."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from headrace.api.errors import ConfigError
from headrace.inspection.job_process import Emit


def echo(spec: Mapping[str, Any], emit: Emit) -> None:
    print("not an item")
    logging.getLogger(__name__).warning("not an item either")
    for number in range(spec["times"]):
        emit({"number": number, "text": spec["text"], "stdin": sys.stdin.read()})


def hang(spec: Mapping[str, Any], emit: Emit) -> None:
    """Ignore SIGTERM, with a child in the group, one in a session of its own, and a daemon."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep = [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"]
    child = subprocess.Popen(sleep)
    session = subprocess.Popen(sleep, start_new_session=True)
    start = f"import subprocess; print(subprocess.Popen({sleep!r}, start_new_session=True, stdout=2).pid)"
    daemon = subprocess.run([sys.executable, "-c", start], stdout=subprocess.PIPE, check=True)
    emit({"pids": [os.getpid(), os.getppid(), child.pid, session.pid, int(daemon.stdout)]})
    while True:
        time.sleep(60)


def leave_a_child(spec: Mapping[str, Any], emit: Emit) -> None:
    emit({"pids": [subprocess.Popen(["sleep", "600"]).pid]})


def die(spec: Mapping[str, Any], emit: Emit) -> None:
    emit({"number": 1})
    print("about to die", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(spec: Mapping[str, Any], emit: Emit) -> None:
    print(spec.get("last words", "good bye"), flush=True)
    os._exit(7)


def kill_the_guard(spec: Mapping[str, Any], emit: Emit) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def write_garbage(spec: Mapping[str, Any], emit: Emit) -> None:
    for fd in range(3, 64):
        try:
            os.write(fd, b'garbage\n[1]\n{"item": 3}\nhalf a li')
        except OSError:
            continue


def fill(spec: Mapping[str, Any], emit: Emit) -> None:
    while True:
        emit({"text": "x" * 10_000})


def mistake(spec: Mapping[str, Any], emit: Emit) -> None:
    raise ConfigError.invalid("file", "nowhere", "there is none")


def defect(spec: Mapping[str, Any], emit: Emit) -> None:
    raise RuntimeError("oops")


def preview_of(spec: Mapping[str, Any], emit: Emit) -> None:
    """Emit as many records as the configuration says, and the end."""
    for number in range(int(spec["config"]["shown"])):
        emit({"record": number})
    emit({"end": {"reason": "time", "error": None}})
