# SPDX-License-Identifier: Apache-2.0
"""Makes a plan: reads files and cluster, has the worker check all configurations, and compares."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.ctl.ctl_error import CtlError
from headrace.cli.ctl.rest_api import path
from headrace.cli.plan.cluster_state import Current, labels_of, read_cluster
from headrace.cli.plan.connector_sources import read_connectors
from headrace.cli.plan.desired_connectors import Desired, without_unset
from headrace.cli.plan.differences import Action, Change, Config, Plan, change_of, pruned
from headrace.cli.plan.effects import renamed, with_effects
from headrace.cli.plan.findings import Finding, in_order
from headrace.cli.plan.validation import Checked, passwords_of, secrets_in, validate
from headrace.config.connector_config import CONNECTOR_CLASS

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi
    from headrace.rest.access.hidden_secrets import Secrets


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with the secrets of its connectors, by name; or the errors because of which there is none."""

    plan: Plan
    findings: Sequence[Finding]
    secrets: Mapping[str, Secrets]


def make_plan(api: RestApi, files: Sequence[Path], label: str | None) -> Planned:
    """Return the plan for files; connectors with ``label`` that are in none of them are to be deleted.

    All files and configurations are checked, so that all errors are found at once.
    """
    described = read_connectors(files, os.environ)
    wanted = {desired.name: desired for desired in reversed(described.connectors) if not desired.unset}
    current = read_cluster(api)
    checked = {name: validate(api, desired) for name, desired in wanted.items()}
    secrets = {name: _secrets(api, desired, current.get(name), checked[name]) for name, desired in wanted.items()}
    findings = [*described.findings, *without_unset(described.connectors)]
    for name, each in checked.items():
        findings += in_order(each.findings, secrets[name].masked_text)
    if findings:
        return Planned(Plan(()), in_order(findings), secrets)
    ordered = [desired for desired in described.connectors if wanted[desired.name] is desired]
    changes = [change_of(desired, current.get(desired.name), secrets[desired.name].masked) for desired in ordered]
    changes += pruned(current, ordered, label)
    effects = tuple(_masked(with_effects(change, _offsets(api, change)), secrets) for change in changes)
    warnings = [f"Connector {name}: {text}" for name, each in checked.items() for text in each.warnings]
    shown = [*warnings, *_without_label(ordered, label), *renamed(changes)]
    return Planned(Plan(effects, tuple(shown)), (), secrets)


def _secrets(api: RestApi, desired: Desired, current: Current | None, checked: Checked) -> Secrets:
    """Return the secrets in both configurations of a connector."""
    configs: list[Config] = [desired.config]
    passwords = [checked.passwords]
    if current is not None and current.config != desired.config:
        configs.append(current.config)
        if _plugins(current.config) != _plugins(desired.config) or checked.passwords is None:
            passwords.append(passwords_of(api, current.config))
    return secrets_in(configs, passwords, desired.secret_values)


def _plugins(config: Config) -> dict[str, str | None]:
    """Return the properties that say which plugins define the others."""
    ends = (".type", "converter", "transforms", "predicates")
    return {key: text for key, text in config.items() if key == CONNECTOR_CLASS or key.endswith(ends)}


def _masked(change: Change, secrets: Mapping[str, Secrets]) -> Change:
    found = secrets.get(change.name)
    if found is None:
        return change
    return replace(change, effects=tuple(map(found.masked_text, change.effects)))


def _offsets(api: RestApi, change: Change) -> Sequence[Mapping[str, Any]]:
    """Return a changed source connector's offsets; none where they cannot be read, as they are only for a hint."""
    if change.action is not Action.UPDATE or change.config is None or change.current is None:
        return ()
    if change.current.type != "source":
        return ()
    try:
        return (api.find(path("connectors", change.name, "offsets")) or {}).get("offsets") or ()
    except CtlError:
        return ()


def _without_label(wanted: Sequence[Desired], label: str | None) -> Sequence[str]:
    if label is None:
        return ()
    missing = [desired.name for desired in wanted if label not in labels_of(desired.config)]
    said = "has not the label, so --prune will not delete it once it is in no file"
    return [f"Connector {name} {said}: {label}" for name in missing]
