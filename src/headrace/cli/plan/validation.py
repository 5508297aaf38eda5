# SPDX-License-Identifier: Apache-2.0
"""Configurations that the worker checks, and which of their properties are secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.api.config_def import Type
from headrace.cli.ctl.ctl_error import CtlError, ExitCode
from headrace.cli.ctl.rest_api import path
from headrace.cli.plan.desired_connectors import Desired
from headrace.cli.plan.differences import Config
from headrace.cli.plan.findings import Finding
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.plugins.configured_plugins import configured_plugins
from headrace.plugins.secret_texts import secrets_of
from headrace.rest.access.hidden_secrets import Secrets

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi


@dataclass(frozen=True, slots=True)
class Checked:
    """The worker's answer about a configuration.

    ``passwords`` are the properties that its plugins define as secrets; None if that is unknown, so that all may be.
    """

    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    passwords: frozenset[str] | None = None


def validate(api: RestApi, desired: Desired) -> Checked:
    """Ask the worker about a connector of a file. Raise CtlError if no worker answers.

    A user who may not validate gets a warning, and the secrets by the plugins' definitions.
    """
    if not desired.plugin:
        return Checked((desired.finding(f"it lacks the property {CONNECTOR_CLASS}"),))
    try:
        answer = _ask(api, desired.plugin, desired.config)
    except CtlError as error:
        if error.code is ExitCode.NO_ANSWER:
            raise
        if error.code is ExitCode.NOT_ALLOWED:
            return Checked(warnings=(f"it is not validated: {error}",), passwords=_defined(api, desired.config))
        return Checked((desired.finding(str(error), CONNECTOR_CLASS),))
    values = [each.get("value") or {} for each in answer["configs"]]
    findings = [desired.finding(text, value["name"]) for value in values for text in value.get("errors") or ()]
    return Checked(tuple(findings), tuple(answer.get("warnings") or ()), _passwords(answer))


def passwords_of(api: RestApi, config: Config) -> frozenset[str] | None:
    """Return the properties of a stored configuration that its plugins define as secrets; None if that is unknown."""
    try:
        return _passwords(_ask(api, config.get(CONNECTOR_CLASS) or "", config))
    except CtlError as error:
        return _defined(api, config) if error.code is ExitCode.NOT_ALLOWED else None


def secrets_in(
    configs: Iterable[Config], passwords: Iterable[frozenset[str] | None], values: Iterable[str] = ()
) -> Secrets:
    """Return the secrets of configurations, and further ``values`` that are secrets: to be masked in all texts."""
    given, known = list(configs), list(passwords)
    if None in known:
        return Secrets.all_of(*given)
    names = frozenset().union(*(each for each in known if each is not None))
    found = {text for config in given for text in secrets_of(config, names)} | {value for value in values if value}
    return Secrets(names, sorted(found, key=len, reverse=True))


def _ask(api: RestApi, plugin: str, config: Config) -> Mapping[str, Any]:
    answer = api.send("PUT", path("connector-plugins", plugin.strip(), "config", "validate"), dict(config))
    if not isinstance(answer, dict) or not isinstance(answer.get("configs"), list):
        raise CtlError("The worker's answer is no validation")
    return answer


def _defined(api: RestApi, config: Config) -> frozenset[str] | None:
    """Return the same by the definitions of the connector, its converters, transformations and predicates."""
    found: set[str] = set()
    for plugin, prefix in configured_plugins(config):
        try:
            keys = api.get(path("connector-plugins", plugin, "config"))
        except CtlError:
            return None
        found |= {prefix + key["name"] for key in keys if key["type"] == Type.PASSWORD.value}
    return frozenset(found)


def _passwords(answer: Mapping[str, Any]) -> frozenset[str]:
    keys = [each.get("definition") or {} for each in answer["configs"]]
    return frozenset(key["name"] for key in keys if key.get("type") == Type.PASSWORD.value)
