# SPDX-License-Identifier: Apache-2.0
"""Changes of committed offsets (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.model.info import ConnectorOffset


@dataclass(frozen=True, slots=True)
class OffsetsChange:
    """A change of a stopped connector's offsets.

    ``offsets`` are the partitions to write, each with an offset or with None to delete it; other partitions stay. If it
    is None, all offsets are reset. ``dry_run``: report the differences, change nothing. ``removal``: the connector is
    deleted, and its target must not be changed.
    """

    offsets: tuple[ConnectorOffset, ...] | None
    dry_run: bool = False
    removal: bool = False


@dataclass(frozen=True, slots=True)
class OffsetDifference:
    """One partition whose offset changes, with both offsets; None where there is none."""

    partition: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OffsetsChanged:
    """The outcome of a change, or with ``dry_run`` the expected one; ``message`` is for the user."""

    message: str
    differences: tuple[OffsetDifference, ...]
