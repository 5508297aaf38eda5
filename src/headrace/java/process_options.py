# SPDX-License-Identifier: Apache-2.0
"""The options of this process's JVM, which the first plugin in Java starts, whatever its kind, and of its hosts'."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.config.java_config import DEFAULT_JAVA_OPTIONS, one_collector

_chosen: list[str] = []
_of_hosts: list[str] = []


def use_options(options: Sequence[str]) -> None:
    """Have the JVM started with these options. Without effect once it runs."""
    _chosen[:] = options


def use_host_options(options: Sequence[str]) -> None:
    """Have hosts that this process starts from now on add these options to their own."""
    _of_hosts[:] = options


def options_of_hosts() -> tuple[str, ...]:
    """Return the options of ``use_host_options``."""
    return tuple(_of_hosts)


def are_usual() -> bool:
    """Return True if the user has not chosen other options than the default ones."""
    return set(_chosen) <= {DEFAULT_JAVA_OPTIONS}


def with_chosen(defaults: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return ``defaults``, the options of ``use_options``, and ``more``, with one garbage collector: the last one."""
    return one_collector([*defaults, *_chosen, *more])
