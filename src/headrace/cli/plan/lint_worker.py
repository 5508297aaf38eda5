# SPDX-License-Identifier: Apache-2.0
"""The worker that files of connectors are checked for: that of a properties file, or one that could be any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.distributed_config import GROUP_ID, DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.config.standalone_config import OFFSETS_FILE, StandaloneConfig
from headrace.config.worker_config import SINGER_COMMANDS, WorkerConfig
from headrace.plugins.command_access import ANY_PROGRAM

_CONVERTER: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_ANY: Final = {
    GROUP_ID: "headrace-lint",
    **{f"{kind}.storage.topic": f"connect-{kind}" for kind in ("config", "offset", "status")},
    "exactly.once.source.support": "enabled",
    SINGER_COMMANDS: ANY_PROGRAM,
}


@dataclass(frozen=True, slots=True)
class LintWorker:
    """A worker's properties. Without a file they are the defaults, with exactly-once enabled and all commands allowed.

    ``missing_converters`` are those that a connector has to name, since its worker's file names none.
    """

    config: WorkerConfig
    properties: Mapping[str, str]
    missing_converters: tuple[str, ...] = ()

    @property
    def exactly_once(self) -> bool:
        return self.config.exactly_once_source_enabled


def lint_worker(file: Path | None) -> LintWorker:
    """Return the worker of a file, distributed or standalone. Raise ConfigError, of one line, for one that is invalid.

    References to config providers stay as they are: nothing is read but the file.
    """
    given = {} if file is None else read_properties(file)
    converters = dict.fromkeys((KEY_CONVERTER, VALUE_CONVERTER), _CONVERTER)
    missing = () if file is None else tuple(name for name in converters if not given.get(name))
    standalone = OFFSETS_FILE in given and GROUP_ID not in given
    defaults = converters if file is not None else {**converters, **_ANY}
    try:
        properties = {**defaults, **{name: text for name, text in given.items() if text}}
        config = StandaloneConfig(properties) if standalone else DistributedConfig(properties)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error_text(error)}") from error
    return LintWorker(config, properties, missing)
