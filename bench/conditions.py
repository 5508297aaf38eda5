# SPDX-License-Identifier: Apache-2.0
"""The machine, the versions and the day of a measurement, to be kept beside its figures."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from headrace import KAFKA_VERSION

_CPU_INFO = Path("/proc/cpuinfo")


def conditions_now() -> dict[str, str | float | int]:
    """Return what a reader needs to judge the figures, by name. ``load`` is the machine's over the last minute."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "spark": version("pyspark"),
        "kafka_connect": KAFKA_VERSION,
    }


def _processor() -> str:
    for line in _CPU_INFO.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
