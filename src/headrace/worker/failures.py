# SPDX-License-Identifier: Apache-2.0
"""How a failure is told to users."""

from __future__ import annotations

import traceback

from headrace.api.errors import ConfigError


def trace_of(error: BaseException) -> str:
    """What a FAILED status shows: the stack trace, or the message alone where the user's configuration is at fault."""
    if isinstance(error, ConfigError):
        return str(error)
    return "".join(traceback.format_exception(error))
