# SPDX-License-Identifier: Apache-2.0
"""A function for queries whose first attempt at a partition fails, dies, is too slow, or waits to be killed.

No connector names it: the entry point in `on_frames-1.0.dist-info` has each session get it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE = 60.0


def register(session: SparkSession) -> None:
    session.udf.register("under_fire", _under_fire, "string")


def _under_fire(directory: str, faults: str, value: str) -> str:
    """`faults` are like `raise:25,exit:50`: what happens to the attempt that is the first to come to which value.

    The first one and later ones leave files. Spark's numbers do not show it: an attempt may die on its way there.
    """
    for name, _, where in (fault.partition(":") for fault in faults.split(",")):
        if where == value:
            try:
                (Path(directory) / f"{name}-0").touch(exist_ok=False)
            except FileExistsError:
                (Path(directory) / f"{name}-1").touch()
            else:
                _FAULTS[name](Path(directory))
    return value


def _raise(directory: Path) -> None:
    raise ValueError("the first attempt")


def _exit(directory: Path) -> None:
    os._exit(1)


def _slow(directory: Path) -> None:
    """Until there is a second attempt, beside which this one then goes on."""
    _wait_for(directory / "slow-1")
    (directory / "slow-and-alive").touch()


def _hold(directory: Path) -> None:
    _wait_for(directory / "go-on")


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not file.exists():
        if time.monotonic() > deadline:
            os._exit(1)
        time.sleep(0.02)


def _note(directory: Path) -> None:
    """That it was there, and no more."""


_FAULTS: dict[str, Callable[[Path], None]] = {
    "raise": _raise,
    "exit": _exit,
    "slow": _slow,
    "hold": _hold,
    "note": _note,
}
