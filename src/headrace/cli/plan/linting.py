# SPDX-License-Identifier: Apache-2.0
"""Checks files of connectors by the plugins that are installed here, without a worker and without Kafka."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headrace.api.config_def import Type
from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.plan.connector_sources import read_connectors
from headrace.cli.plan.desired_connectors import Desired
from headrace.cli.plan.differences import HIDDEN
from headrace.cli.plan.findings import Finding, Level, in_order
from headrace.cli.plan.lint_worker import LintWorker
from headrace.cli.plan.validation import secrets_in
from headrace.config.connector_config import CONNECTOR_CLASS, PREDICATES, TRANSFORMS
from headrace.config.secret_properties import REFERENCE
from headrace.config.sink_connector_config import TOPICS_REGEX
from headrace.config.source_connector_config import BOUNDARY, BOUNDARY_INTERVAL, EXACTLY_ONCE_SUPPORT
from headrace.herder.config_infos import ConfigInfos
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.enriched_definition import aliases
from headrace.plugins.discovery import plugins_of

_MISSPELT: Final = "did you mean"
_INTERVAL: Final = "interval"


@dataclass(frozen=True, slots=True)
class Linted:
    """The findings in some files, by file and line, and the number of connectors in them."""

    findings: Sequence[Finding]
    connectors: int


def lint_files(paths: Sequence[Path], worker: LintWorker, variables: Mapping[str, str]) -> Linted:
    """Return all findings. Runs code of the connectors' plugins, in this process."""
    described = read_connectors(paths, variables)
    validator = ConnectorValidator(worker.config, plugins_of(worker.properties))
    findings = list(described.findings)
    for desired in described.connectors:
        findings += _unset(desired)
        findings += _of_connector(desired, worker, validator)
    return Linted(in_order(findings), len(described.connectors))


def _unset(desired: Desired) -> Iterator[Finding]:
    for key, names in desired.unset.items():
        text = f"not checked, since the environment variable {', '.join(sorted(names))} is not set"
        yield replace(desired.finding(text, key), level=Level.WARNING)


def _of_connector(desired: Desired, worker: LintWorker, validator: ConnectorValidator) -> Iterator[Finding]:
    for name in worker.missing_converters:
        if not desired.config.get(name):
            yield desired.finding(f"neither the connector nor the worker names a {name}", name)
    yield from combinations(desired, worker.exactly_once)
    yield from () if desired.unset.get(TOPICS_REGEX) else invalid_regex(desired)
    if not desired.plugin:
        yield desired.finding(f"it lacks the property {CONNECTOR_CLASS}")
        return
    try:
        infos = validator.validate(desired.plugin, desired.config)
    except ConnectError as error:
        shown = secrets_in([desired.config], [None]).masked_text
        yield from in_order([desired.finding(error_text(error), CONNECTOR_CLASS)], shown)
        return
    yield from _of_infos(desired, infos)


def _of_infos(desired: Desired, infos: ConfigInfos) -> Iterator[Finding]:
    keys = [each.definition for each in infos.configs if each.definition is not None]
    passwords = frozenset(key.name for key in keys if key.type == Type.PASSWORD.value)
    secrets = secrets_in([desired.config], [passwords], desired.secret_values)
    values = [each.value for each in infos.configs if each.value is not None]
    known = [value for value in values if not _is_open(desired, value.name)]
    errors = [_at(desired, value.name, text) for value in known for text in value.errors]
    yield from in_order((*errors, *_without_effect(desired, infos)), secrets.masked_text)
    for key, text in desired.config.items():
        is_written_here = key not in desired.variables and not _is_open(desired, key)
        if text and is_written_here and text.strip() != HIDDEN and secrets.masked(key, text) == HIDDEN:
            yield _in_clear(desired, key)


def _without_effect(desired: Desired, infos: ConfigInfos) -> Iterator[Finding]:
    for warning in infos.warnings or ():
        key, _, reason = warning.partition(": ")
        level = Level.ERROR if _MISSPELT in reason else Level.WARNING
        yield replace(desired.finding(reason, key), level=level)


def _in_clear(desired: Desired, key: str) -> Finding:
    advice = "a secret in clear; use a config provider, such as ${env:NAME}, or a variable, $(NAME)"
    return replace(desired.finding(advice, key), level=Level.WARNING)


def _is_open(desired: Desired, key: str) -> bool:
    """Return True for a property whose value is known to the worker only, or to another environment."""
    return key in desired.unset or REFERENCE.search(desired.config.get(key) or "") is not None


def _at(desired: Desired, key: str, message: str) -> Finding:
    """Return an error about a property, at the line of the list with its alias if it is not in the file itself."""
    found = desired.finding(message, key)
    listed = key.partition(".")[0]
    return found if key in desired.lines else replace(found, line=desired.lines.get(listed, found.line))


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
