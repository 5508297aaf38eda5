# SPDX-License-Identifier: Apache-2.0
"""Counts the calls that Python code makes, of Java's methods among them."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_in(function: Callable[[], object], package: str = "") -> int:
    """Count the calls that Python code of a package, by default of any, makes in a call of ``function``."""
    found = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal found
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode" and frame.f_globals.get("__name__", "").startswith(package):
            found += dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")
        return trace

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(tracer)
    return found
