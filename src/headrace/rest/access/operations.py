# SPDX-License-Identifier: Apache-2.0
"""The operation of a request, and the role that it requires."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from headrace.rest.raw_path import decoded


class Role(IntEnum):
    """Roles in ascending order; each includes those before it."""

    VIEWER = 1
    """See connectors, with secrets masked, their status, plugins and metrics."""
    OPERATOR = 2
    """Pause, resume, stop and restart; see offsets and log lines."""
    EDITOR = 3
    """Create, change and delete connectors; change offsets; validate; see records; see and redrive dead letters."""
    ADMIN = 4
    """Change log levels, and everything else."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A role and the connector concerned; None for none, or for one that only the body names."""

    role: Role
    connector: str | None = None


_READING: Final = ("GET", "HEAD", "OPTIONS")
_CONNECTOR: Final = re.compile(r"/connectors/([^/]+)(?:/(.*))?")
_TO_READ: Final = {"offsets": Role.OPERATOR, "logs": Role.OPERATOR, "topics/statistics": Role.VIEWER}
"""Below a connector. Records, which are below topics, are for those who could have a connector copy them."""
_OPERATING: Final = re.compile(r"pause|resume|stop|restart|tasks/[^/]+/restart|topics/reset")
_RECORDS: Final = re.compile(r"dead-letters(/.*)?")
"""Paths whose answers have records in them."""


def operation(method: str, path: str) -> Operation:
    """Return a request's operation; ``path`` percent-encoded, as sent. Raise BadRequestError for a name not in UTF-8.

    Changes at unknown paths require ``ADMIN``: a new path that is missing here is closed.
    """
    path = path.rstrip("/")
    reading = method in _READING
    if found := _CONNECTOR.fullmatch(path):
        return Operation(_role_at_connector(reading, found[2] or ""), decoded(found[1]))
    if path == "/connectors":
        return Operation(Role.VIEWER if reading else Role.EDITOR)
    if path == "/changes" and reading:
        return Operation(Role.OPERATOR)
    if path.startswith("/connector-plugins"):
        return Operation(Role.VIEWER if reading else Role.EDITOR)
    if path == "/admin" or path.startswith("/admin/"):
        return Operation(Role.ADMIN)
    return Operation(Role.VIEWER if reading else Role.ADMIN)


def _role_at_connector(reading: bool, below: str) -> Role:
    if reading and _RECORDS.fullmatch(below):
        return Role.EDITOR
    if reading:
        return _TO_READ.get(below, Role.EDITOR if below.startswith("topics/") else Role.VIEWER)
    return Role.OPERATOR if _OPERATING.fullmatch(below) else Role.EDITOR
