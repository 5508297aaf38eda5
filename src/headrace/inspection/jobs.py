# SPDX-License-Identifier: Apache-2.0
"""The jobs that a sandbox runs, by their names.

A job is a function ``job(spec, emit)`` for the main thread of a process of its own: ``spec`` is a JSON object, and
``emit`` sends an item, a JSON object, to the worker. It may raise any error; the text of a ConnectError is for users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Emit = Callable[[Mapping[str, Any]], None]
Job = Callable[[Mapping[str, Any], Emit], None]

JOBS: Final[Mapping[str, str]] = {
    "preview": "headrace.inspection.preview.preview_job:preview",
    "decoding of dead letters": "headrace.inspection.dead_letters.letter_decoder:decode_letters",
    "redrive of dead letters": "headrace.inspection.dead_letters.letter_chain:redrive_letters",
    "read of records": "headrace.inspection.topics.records_job:read_records",
}
"""Names and functions, as ``module:function``. They are imported in the job's process only."""
