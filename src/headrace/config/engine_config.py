# SPDX-License-Identifier: Apache-2.0
"""The part of a worker's configuration that its engine needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class ConsoleLimits:
    """The limits of the files with the output of Spark and tasks: their number and their bytes."""

    max_bytes: int = 10 * 1024 * 1024
    max_files: int = 3


DEFAULT_CONSOLE: Final = ConsoleLimits()


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The settings of an engine. ``spark``: all properties ``spark.*``, by full name. ``plugin_path``: directories.

    ``channel_tls`` and ``channel_port`` are ``task.channel.tls`` and ``task.channel.port``; ``start_timeout``, in
    seconds, is ``engine.start.timeout.ms``, ``console`` is ``engine.console.*``; ``frame_timeout``, ``frame_deaths``,
    ``frame_window``, ``frame_result_bytes`` and ``frame_result_rows`` are ``frame.job.*``, times in seconds.
    ``isolation`` is ``spark.task.isolation``. ``rest_guarded``: the REST API authenticates its users.
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
