# SPDX-License-Identifier: Apache-2.0
"""Processes that may end while they are looked at."""

from __future__ import annotations

import psutil


def alive(process: psutil.Process) -> bool:
    """Whether it runs, or stands still; one that has ended and was not waited for does not."""
    return process.is_running() and status_of(process) not in ("", psutil.STATUS_ZOMBIE)


def status_of(process: psutil.Process) -> str:
    """As psutil names it; empty once it has ended."""
    try:
        return str(process.status())
    except psutil.Error:
        return ""


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def command_of(process: psutil.Process) -> str:
    """Its command line, joined by blanks; empty once it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def children_of(pid: int, recursive: bool = False) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=recursive)
    except psutil.Error:
        return []
