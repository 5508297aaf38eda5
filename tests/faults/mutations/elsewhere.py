# SPDX-License-Identifier: Apache-2.0
"""Tasks' processes are as on another machine than their worker's: nothing ends them with it, or when another starts."""

from __future__ import annotations

from headrace.model import process_group
from headrace.spark.engine.runtime_directory import RuntimeDirectory


def _nothing(*_: object) -> None: ...


process_group.end_forks_with_this_process = _nothing
RuntimeDirectory.remove_others = _nothing  # type: ignore[method-assign]
