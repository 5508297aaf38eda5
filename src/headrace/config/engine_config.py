# SPDX-License-Identifier: Apache-2.0
"""What a worker's engine is to know of the worker's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """``spark``: all properties ``spark.*``, under their full names. ``plugin_path``: directories.

    ``channel_tls`` and ``channel_port`` are ``task.channel.tls`` and ``task.channel.port``.
    """

    spark: Mapping[str, str] = field(default_factory=dict)
    plugin_path: tuple[str, ...] = ()
    channel_tls: str = "auto"
    channel_port: int = 0
