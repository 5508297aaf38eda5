# SPDX-License-Identifier: Apache-2.0
"""A connector's task count records go with it, so that its next tasks fence no producer (against invariant 2)."""

from __future__ import annotations

from headrace.storage.config_log import ConfigLog

_remove = ConfigLog._remove


def _forgetful(log: ConfigLog, name: str) -> None:
    _remove(log, name)
    log._task_count_records.pop(name, None)


ConfigLog._remove = _forgetful  # type: ignore[method-assign]
