# SPDX-License-Identifier: Apache-2.0
"""Checks for commands that use requests which Kafka Connect's REST API does not have."""

from __future__ import annotations

from headrace.cli.ctl.command import Session
from headrace.cli.ctl.ctl_error import CtlError


def check_headrace_worker(session: Session, command: str) -> None:
    """Raise CtlError unless the session's worker is one of headrace's."""
    about = session.api.get("/")
    if not isinstance(about, dict) or "headrace_version" not in about:
        version = about.get("version", "unknown") if isinstance(about, dict) else "unknown"
        raise CtlError(
            f"{command} needs a headrace worker, and this is one of Kafka Connect, version {version}",
            remedy="Kafka Connect's REST API has no such request",
        )
