# SPDX-License-Identifier: Apache-2.0
"""What a worker's engine is to know of the worker's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class ConsoleLimits:
    """What is kept of what Spark and tasks print: so many files of so many bytes."""

    max_bytes: int = 10 * 1024 * 1024
    max_files: int = 3


DEFAULT_CONSOLE: Final = ConsoleLimits()


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """``spark``: all properties ``spark.*``, under their full names. ``plugin_path``: directories.

    ``channel_tls`` and ``channel_port`` are ``task.channel.tls`` and ``task.channel.port``; ``start_timeout``, in
    seconds, is ``engine.start.timeout.ms``, ``console`` is ``engine.console.*``; ``frame_timeout``, ``frame_deaths``,
    ``frame_window``, ``frame_result_bytes`` and ``frame_result_rows`` are ``frame.job.*``, times in seconds.
    ``isolation`` is ``spark.task.isolation``. ``rest_guarded``: the REST API asks who is there.
    """

    spark: Mapping[str, str] = field(default_factory=dict)
    plugin_path: tuple[str, ...] = ()
    channel_tls: str = "auto"
    channel_port: int = 0
    start_timeout: float = 300.0
    console: ConsoleLimits = DEFAULT_CONSOLE
    rest_guarded: bool = False
    frame_timeout: float = 600.0
    frame_deaths: int = 3
    frame_window: float = 600.0
    frame_result_bytes: int = 256 * 1024 * 1024
    frame_result_rows: int = 1_000_000
    isolation: str = "none"
