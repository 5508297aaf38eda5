# SPDX-License-Identifier: Apache-2.0
"""Messages between a worker and the host of a JVM: the worker calls methods of the host's ``SparkJvm``.

They go over a pair of sockets that only these two processes have. When one of them ends, the other one notices.
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
    """Down, first: start Spark with the settings ``conf``, which hold secrets.

    ``shipped``: executors are on other machines. ``module_path``, ``protected_paths`` and ``log_levels`` are the
    worker's own, the rest is for ``SparkProcess`` and ``SparkJvm``.
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
    """Up, the answer to HostStart: calls are accepted from now on.

    ``error`` if Spark could not be started, and the host ends; ``for_good``: until a user changes something.
    """

    error: str | None = None
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Down: call a method. The answer is Answer."""

    number: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Up: the method's result, or the fault and the text of its error."""

    number: int
    value: Any = None
    fault: FrameFault | None = None
    error: str = ""
