# SPDX-License-Identifier: Apache-2.0
"""Values from properties files: ``${file:/etc/secrets/db.properties:password}``; and which files providers may read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.errors import ConfigError
from headrace.api.validators import Range, ValidList
from headrace.config.properties_file import read_properties

ALLOWED_PATHS: Final = "allowed.paths"
TTL: Final = "ttl.ms"

DEFINITION: Final = (
    ConfigDef()
    .define(ALLOWED_PATHS, Type.LIST, "", importance=Importance.HIGH, validator=ValidList(),
            doc="Files that may be read, and directories whose content may be read; by default all.")
    .define(TTL, Type.LONG, -1, importance=Importance.LOW, validator=Range.at_least(-1),
            doc="The time in ms after which values are read again; by default they are not read again.")
)  # fmt: skip


class FileAccess:
    """The paths that may be read. Immutable. Paths are compared after resolving symbolic links and ``..``."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        """Raise ConfigError for an allowed path that is not absolute or does not exist, as in Kafka Connect."""
        parsed = DEFINITION.parse(configs)
        self._allowed = tuple(_existing(path) for path in parsed[ALLOWED_PATHS])
        self.ttl_ms: int | None = parsed[TTL] if parsed[TTL] > 0 else None

    def missing_limit(self) -> str | None:
        """Return the parameter that would limit what may be read; None if it is set."""
        return None if self._allowed else ALLOWED_PATHS

    def resolve(self, path: str | Path) -> Path:
        """Return the real path. Raise ConfigError if it may not be read, even if it does not exist."""
        real = Path(path).resolve()
        if self._allowed and not any(real.is_relative_to(allowed) for allowed in self._allowed):
            raise ConfigError(f"{path} may not be read, for it is not in the provider's {ALLOWED_PATHS}", ALLOWED_PATHS)
        return real


class FileReadingProvider(ConfigProvider):
    """A provider of Kafka's that reads files; subclasses only look keys up. Thread-safe once configured."""

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


class FileConfigProvider(FileReadingProvider):
    """A provider of files' properties. Java: ``org.apache.kafka.common.config.provider.FileConfigProvider``."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        if not path:
            return ConfigData({})
        found = read_properties(self._access.resolve(path))
        wanted = {key: text for key, text in found.items() if keys is None or key in keys}
        return ConfigData(wanted, self._access.ttl_ms)


def _existing(path: str) -> Path:
    given = Path(path)
    if not given.is_absolute() or not given.exists():
        raise ConfigError.invalid(ALLOWED_PATHS, path, "the path has to be absolute and to exist")
    return given.resolve()
