# SPDX-License-Identifier: Apache-2.0
"""Values from properties files: ``${file:/etc/secrets/db.properties:password}``."""

from __future__ import annotations

from collections.abc import Collection

from headrace.api.config_provider import ConfigData
from headrace.config.properties_file import read_properties
from headrace.plugins.config_providers.file_access import FileReadingProvider


class FileConfigProvider(FileReadingProvider):
    """A provider of files' properties. Java: ``org.apache.kafka.common.config.provider.FileConfigProvider``."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        if not path:
            return ConfigData({})
        found = read_properties(self._access.resolve(path))
        wanted = {key: text for key, text in found.items() if keys is None or key in keys}
        return ConfigData(wanted, self._access.ttl_ms)
