# SPDX-License-Identifier: Apache-2.0
"""A connector's own check of its configuration by a Spark job."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.api.connector import Connector
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.herder.findings import Findings
from headrace.herder.frame_steps import Analyse


def check_by_frames(findings: Findings, connector: Connector, config: Mapping[str, str], analyse: Analyse) -> None:
    """Run the job of ``Connector.frame_check`` on a configuration that is valid otherwise; its errors propagate."""
    job = connector.frame_check(config)
    error = None if job is None else analyse(job)
    if error is not None:
        findings.add_message(error.name or CONNECTOR_CLASS, str(error))
