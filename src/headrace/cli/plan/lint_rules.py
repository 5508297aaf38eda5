# SPDX-License-Identifier: Apache-2.0
"""Mistakes that a worker does not report, or only after others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from headrace.api.errors import ConfigError
from headrace.cli.plan.desired_connectors import Desired
from headrace.cli.plan.findings import Finding, Level
from headrace.config.connector_config import PREDICATES, TRANSFORMS
from headrace.config.sink_connector_config import TOPICS_REGEX
from headrace.config.source_connector_config import BOUNDARY, BOUNDARY_INTERVAL, EXACTLY_ONCE_SUPPORT
from headrace.herder.enriched_definition import aliases

_INTERVAL: Final = "interval"


def invalid_regex(desired: Desired) -> Iterator[Finding]:
    """Yield an error for topics.regex that is none; a worker compiles it once all else is valid."""
    pattern = desired.config.get(TOPICS_REGEX) or ""
    try:
        re.compile(pattern)
    except re.error as error:
        reason = f"not a regular expression: {error}"
        yield desired.finding(str(ConfigError.invalid(TOPICS_REGEX, pattern, reason)), TOPICS_REGEX)


def combinations(desired: Desired, exactly_once: bool) -> Iterator[Finding]:
    """Yield a warning for each property without effect.

    ``exactly_once`` says if the worker's sources are exactly-once.
    """
    for finding in (*_exactly_once(desired, exactly_once), *_unused_predicates(desired)):
        yield replace(finding, level=Level.WARNING)


def _exactly_once(desired: Desired, enabled: bool) -> Iterator[Finding]:
    boundary = desired.config.get(BOUNDARY)
    if boundary and not enabled:
        yield desired.finding("without effect, as the worker's sources are not exactly-once", BOUNDARY)
    if desired.config.get(BOUNDARY_INTERVAL) and (boundary or "").lower() != _INTERVAL:
        yield desired.finding(f"without effect, as {BOUNDARY} is not {_INTERVAL}", BOUNDARY_INTERVAL)
    if not enabled and (desired.config.get(EXACTLY_ONCE_SUPPORT) or "").lower() == "requested":
        text = "it is requested, but the worker's sources are not exactly-once: records may be duplicated"
        yield desired.finding(text, EXACTLY_ONCE_SUPPORT)


def _unused_predicates(desired: Desired) -> Iterator[Finding]:
    used = {desired.config.get(f"{TRANSFORMS}.{alias}.predicate") for alias in aliases(desired.config, TRANSFORMS)}
    for alias in aliases(desired.config, PREDICATES):
        if alias not in used:
            yield desired.finding(f"no transformation uses the predicate '{alias}'", PREDICATES)
