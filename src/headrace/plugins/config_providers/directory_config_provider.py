# SPDX-License-Identifier: Apache-2.0
"""Values from one file each, as Kubernetes mounts secrets: ``${dir:/etc/secrets:password}``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from headrace.api.config_provider import ConfigData
from headrace.api.errors import ConfigError
from headrace.plugins.config_providers.file_config_provider import FileReadingProvider


class DirectoryConfigProvider(FileReadingProvider):
    """A provider of files' contents. Java: ``org.apache.kafka.common.config.provider.DirectoryConfigProvider``.

    A key is the name of a file in the directory, its value the content. Entries that are no files are left out.
    """

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        if not path:
            return ConfigData({})
        directory = self._access.resolve(path)
        if not directory.is_dir():
            raise ConfigError(f"{path} is not a directory")
        names = (entry.name for entry in directory.iterdir())  # never a key with a slash
        files = {name: directory / name for name in names if keys is None or name in keys}
        return ConfigData(
            {name: self._read(file) for name, file in files.items() if file.is_file()}, self._access.ttl_ms
        )

    def _read(self, file: Path) -> str:
        try:
            return self._access.resolve(file).read_text("utf-8")
        except OSError as error:
            raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file} cannot be read: it is not UTF-8") from error
