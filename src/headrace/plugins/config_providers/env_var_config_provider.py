# SPDX-License-Identifier: Apache-2.0
"""Values from the worker's environment: ``${env:DB_PASSWORD}``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.errors import ConfigError
from headrace.api.validators import LambdaValidator

ALLOWLIST: Final = "allowlist.pattern"


def _check_pattern(name: str, value: str | None) -> None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise ConfigError.invalid(name, value, f"not a regular expression: {error}") from error


_DEFINITION: Final = ConfigDef().define(
    ALLOWLIST,
    Type.STRING,
    None,
    importance=Importance.HIGH,
    validator=LambdaValidator(_check_pattern, lambda: "a regular expression"),
    doc="Pattern that the whole name of a variable must match to be read; by default all variables can be read.",
)


class EnvVarConfigProvider(ConfigProvider):
    """A provider of environment variables. Java: ``org.apache.kafka.common.config.provider.EnvVarConfigProvider``."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._allowed: re.Pattern[str] | None = None

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _DEFINITION

    def configure(self, configs: Mapping[str, Any]) -> None:
        pattern = _DEFINITION.parse(configs)[ALLOWLIST]
        self._allowed = None if pattern is None else re.compile(pattern)

    def missing_limit(self) -> str | None:
        return ALLOWLIST if self._allowed is None else None

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        if path:
            raise ConfigError(f"variables have no path, so '{path}' cannot be meant; write ${{provider:VARIABLE}}")
        if keys is None:
            keys = [name for name in self._environment if self._may_read(name)]
        refused = sorted(key for key in keys if not self._may_read(key))
        if refused:
            reason = f"the provider's {ALLOWLIST} does not match"
            raise ConfigError(f"{', '.join(refused)} may not be read, for {reason}", ALLOWLIST)
        return ConfigData({key: self._environment[key] for key in keys if key in self._environment})

    def _may_read(self, name: str) -> bool:
        return self._allowed is None or self._allowed.fullmatch(name) is not None
