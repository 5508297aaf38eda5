# SPDX-License-Identifier: Apache-2.0
"""The lineage of a worker from its configuration."""

from __future__ import annotations

import logging
from typing import Final

from headrace.api.errors import ConfigError
from headrace.config.telemetry_config import LINEAGE
from headrace.config.worker_config import WorkerConfig
from headrace.lineage.lineage_reporter import LineageReporter

_CLIENTS_LOGGERS: Final = ("openlineage", "urllib3.connectionpool")
"""They log each attempt and each failed event, at any level."""
_NAMESPACE: Final = "headrace"


def create_lineage(config: WorkerConfig) -> LineageReporter | None:
    """Return the reporter, not started; None if lineage is not enabled.

    Jobs have the namespace of the worker's group. Raise ConfigError if packages are missing, or OpenLineage's own
    configuration is not valid.
    """
    if not config.get(LINEAGE):
        return None
    try:
        from headrace.lineage.openlineage_events import OpenLineageEvents
    except ImportError as error:
        reason = f"needs OpenLineage: install headrace with the extra 'lineage' ({error})"
        raise ConfigError.invalid(LINEAGE, "true", reason) from error
    for name in _CLIENTS_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return LineageReporter(OpenLineageEvents(config.group_id or _NAMESPACE))
    except Exception as error:
        raise ConfigError.invalid(
            LINEAGE, "true", f"the configuration of OpenLineage cannot be used: {error}"
        ) from error
