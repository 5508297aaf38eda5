# SPDX-License-Identifier: Apache-2.0
"""What a worker and the host of a JVM say to each other: the worker calls methods of the host's ``SparkJvm``.

They speak over a pair of sockets that only these two processes have. When one of them ends, the other one hears it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.config.engine_config import ConsoleLimits
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.messages import FrameFault


@dataclass(frozen=True, slots=True)
class HostStart:
    """Down, first: start Spark with these settings, which hold secrets. The rest is as ``SparkProcess`` and
    ``SparkJvm`` take it; ``shipped``: executors are on other machines.

    ``module_path``, ``protected_paths`` and ``log_levels`` are the worker's own.
    """

    conf: Mapping[str, str] = field(repr=False)
    directory: Path
    plugin_path: tuple[str, ...]
    console: ConsoleLimits
    endpoint: Endpoint
    shipped: bool
    module_path: tuple[str, ...]
    protected_paths: frozenset[str]
    log_levels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HostUp:
    """Up, the answer to HostStart: calls are taken. ``error`` if Spark could not be started, and the host ends;
    ``for_good`` if it never will be until somebody changes something."""

    error: str | None = None
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Down: Answer is awaited."""

    number: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Up: what the method has returned, or whose fault its error is, and what it says."""

    number: int
    value: Any = None
    fault: FrameFault | None = None
    error: str = ""
