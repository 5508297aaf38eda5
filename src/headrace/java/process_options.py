# SPDX-License-Identifier: Apache-2.0
"""The options of this process's JVM, which the first plugin in Java starts, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.config.java_config import one_collector

_chosen: list[str] = []


def use_options(options: Sequence[str]) -> None:
    """Have the JVM started with these options. Without effect once it runs."""
    _chosen[:] = options


def with_chosen(defaults: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return ``defaults``, the options of ``use_options``, and ``more``, with one garbage collector: the last one."""
    return one_collector([*defaults, *_chosen, *more])
