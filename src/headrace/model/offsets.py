# SPDX-License-Identifier: Apache-2.0
"""Changes of committed offsets (KIP-875)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.model.info import ConnectorOffset


@dataclass(frozen=True, slots=True)
class OffsetsChange:
    """What is wanted of a stopped connector's offsets.

    ``offsets`` are the partitions to write, each with an offset or with None to delete it, and no other is touched;
    None in their place resets all that there are. ``dry_run``: tell the difference, change nothing.
    ``removal``: the connector is no more, and nothing of its target is to be changed.
    """

    offsets: tuple[ConnectorOffset, ...] | None
    dry_run: bool = False
    removal: bool = False


@dataclass(frozen=True, slots=True)
class OffsetDifference:
    """One partition whose offset is another one afterwards; None where there is none."""

    partition: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class OffsetsChanged:
    """What became, or with ``dry_run`` would become, of a change; ``message`` is for the user."""

    message: str
    differences: tuple[OffsetDifference, ...]
