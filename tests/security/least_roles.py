# SPDX-License-Identifier: Apache-2.0
"""The least role that each operation of the REST API takes, in words of the tests' own, and in those of the guide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROLES: Final = ("viewer", "operator", "editor", "admin")
"""Each may do what those before it may."""

LEAST_ROLES: Final[Mapping[str, str]] = {
    "GET /": "viewer",
    "GET /health": "viewer",
    "GET /history": "viewer",
    "GET /workers": "viewer",
    "GET /changes": "operator",
    "GET /events": "viewer",
    "GET /metrics": "viewer",
    "GET /connectors": "viewer",
    "POST /connectors": "editor",
    "GET /connectors/{connector}": "viewer",
    "DELETE /connectors/{connector}": "editor",
    "GET /connectors/{connector}/config": "viewer",
    "PUT /connectors/{connector}/config": "editor",
    "PATCH /connectors/{connector}/config": "editor",
    "GET /connectors/{connector}/status": "viewer",
    "GET /connectors/{connector}/health": "viewer",
    "GET /connectors/{connector}/history": "viewer",
    "GET /connectors/{connector}/tasks": "viewer",
    "GET /connectors/{connector}/tasks/{task}/status": "viewer",
    "GET /connectors/{connector}/topics": "viewer",
    "GET /connectors/{connector}/topics/statistics": "viewer",
    "GET /connectors/{connector}/topics/{topic}/records": "editor",
    "PUT /connectors/{connector}/topics/reset": "operator",
    "PUT /connectors/{connector}/pause": "operator",
    "PUT /connectors/{connector}/resume": "operator",
    "PUT /connectors/{connector}/stop": "operator",
    "POST /connectors/{connector}/restart": "operator",
    "POST /connectors/{connector}/tasks/{task}/restart": "operator",
    "GET /connectors/{connector}/logs": "operator",
    "GET /connectors/{connector}/offsets": "operator",
    "PATCH /connectors/{connector}/offsets": "editor",
    "DELETE /connectors/{connector}/offsets": "editor",
    "GET /connectors/{connector}/dead-letters": "editor",
    "GET /connectors/{connector}/dead-letters/redrive": "editor",
    "POST /connectors/{connector}/dead-letters/redrive": "editor",
    "POST /connectors/{connector}/dead-letters/discard": "editor",
    "GET /connector-plugins": "viewer",
    "GET /connector-plugins/{plugin}/config": "viewer",
    "PUT /connector-plugins/{plugin}/config/validate": "editor",
    "POST /connector-plugins/{plugin}/config/preview": "editor",
    "POST /connectors/{connector}/preview": "editor",
    "GET /admin/loggers": "admin",
    "GET /admin/loggers/{logger}": "admin",
    "PUT /admin/loggers/{logger}": "admin",
}
"""Of all operations that ``/openapi.json`` describes."""
UNDESCRIBED: Final = ("/openapi.json",)
"""What a viewer may read beside them. The console's pages and files are open to everybody: see ``test_open_pages``."""

_ROW: Final = re.compile(r"\| ((?:`[A-Z]+ /[^`|]*`(?:, )?)+) \| `(\w+)` \|")


def may(role: str | None, operation: str) -> bool:
    """Whether the role, None for a user without one, is enough for an operation."""
    return role is not None and ROLES.index(role) >= ROLES.index(LEAST_ROLES[operation])


def documented_roles(guide: Path) -> dict[str, str]:
    """The table of a guide: operations, with commas between them, and the least role."""
    rows = filter(None, map(_ROW.fullmatch, guide.read_text().splitlines()))
    return {operation: row[2] for row in rows for operation in re.findall(r"`([^`]+)`", row[1])}
