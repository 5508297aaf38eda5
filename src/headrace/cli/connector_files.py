# SPDX-License-Identifier: Apache-2.0
"""The files that describe a standalone worker's connectors. Java: ``ConnectStandalone``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.api.errors import ConfigError
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.config.properties_file import read_properties
from headrace.herder.errors import BadRequestError
from headrace.model.state import TargetState
from headrace.rest.request_body import connector_config, initial_state, json_object, named

if TYPE_CHECKING:
    from headrace.plugins.discovery import Plugins


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """A connector's file, parsed."""

    path: Path
    name: str
    config: Mapping[str, str | None]
    target_state: TargetState | None = None


def read_connector_files(paths: Sequence[Path]) -> tuple[ConnectorFile, ...]:
    """Read all. Raise ConfigError, of one line, for a file without a connector, or with that of another file."""
    files: dict[str, ConnectorFile] = {}
    for path in paths:
        file = read_connector_file(path)
        if file.name in files:
            raise unusable(path, f"connector {file.name} is in {files[file.name].path} already")
        files[file.name] = file
    return tuple(files.values())


def read_connector_file(path: Path) -> ConnectorFile:
    """Read a file of properties, of a JSON object with these, or of the body of ``POST /connectors``.

    The answer of ``GET /connectors/{name}`` is accepted too. Raise ConfigError, of one line, for anything else.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".json" or content.lstrip().startswith(b"{"):
            return _of_json(path, json_object(content, "the file"))
        return _of_config(path, read_properties(path))
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error
    except BadRequestError as error:
        raise unusable(path, str(error)) from error


def _of_json(path: Path, content: dict[str, Any]) -> ConnectorFile:
    if not isinstance(content.get("config"), dict):
        return _of_config(path, connector_config(content, "the file"))
    config, name = connector_config(content["config"], "config"), content.get("name")
    if not isinstance(name, str):
        raise unusable(path, "it lacks name beside config")
    return ConnectorFile(path, name.strip(), named(name.strip(), config), initial_state(content.get("initial_state")))


def _of_config(path: Path, config: Mapping[str, str | None]) -> ConnectorFile:
    name = config.get("name")
    if not name or not name.strip():
        raise unusable(path, "it lacks the property name")
    return ConnectorFile(path, name.strip(), {**config, "name": name.strip()})


def check_classes(files: Sequence[ConnectorFile], plugins: Plugins) -> None:
    """Raise ConfigError for a connector whose class does not exist; all else is found when it is created."""
    for file in files:
        name = file.config.get(CONNECTOR_CLASS) or ""
        if name and name == name.strip() and "${" not in name:  # references are resolved when it is created
            try:
                plugins.connector(name)
            except ConfigError as error:
                raise unusable(file.path, str(error)) from error


def unusable(path: Path, reason: str) -> ConfigError:
    """Return the error for a file of a connector that cannot be created."""
    return ConfigError(f"Connector file {path}: {reason}")
