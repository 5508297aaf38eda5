# SPDX-License-Identifier: Apache-2.0
"""Checks what a connector's configuration names outside, by a job with which the connector has Spark look at it."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.api.connector import Connector
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.herder.findings import Findings
from headrace.herder.frame_steps import Analyse


def check_by_frames(findings: Findings, connector: Connector, config: Mapping[str, str], analyse: Analyse) -> None:
    """For a configuration with which nothing else is wrong. What ``Connector.frame_check`` raises is raised."""
    job = connector.frame_check(config)
    error = None if job is None else analyse(job)
    if error is not None:
        findings.error(error.name or CONNECTOR_CLASS, str(error))
