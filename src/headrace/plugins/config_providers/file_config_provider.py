# SPDX-License-Identifier: Apache-2.0
"""Values from properties files: ``${file:/etc/secrets/db.properties:password}``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.config.properties_file import read_properties
from headrace.plugins.config_providers.file_access import DEFINITION, FileAccess


class FileConfigProvider(ConfigProvider):
    """A provider of files' properties. Java: ``org.apache.kafka.common.config.provider.FileConfigProvider``."""

    def __init__(self) -> None:
        self._access = FileAccess({})

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return DEFINITION

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._access = FileAccess(configs)

    def missing_limit(self) -> str | None:
        return self._access.missing_limit()

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        if not path:
            return ConfigData({})
        found = read_properties(self._access.resolve(path))
        wanted = {key: text for key, text in found.items() if keys is None or key in keys}
        return ConfigData(wanted, self._access.ttl_ms)
