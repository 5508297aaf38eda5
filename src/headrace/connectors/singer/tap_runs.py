# SPDX-License-Identifier: Apache-2.0
"""Runs of a tap: its discovery, and its runs from a state. Their files are in a private directory of each run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.connectors.singer.catalog import Catalog, matcher, parse_catalog, selected_streams, selecting
from headrace.connectors.singer.child import Child, Wake
from headrace.connectors.singer.child_runs import ErrorLog, ending, start_child
from headrace.connectors.singer.commands import CONFIG, LINE_BYTES, TAP, command_of, config_text, name_of
from headrace.connectors.singer.held_records import ALL_STREAMS
from headrace.connectors.singer.messages import json_text
from headrace.connectors.singer.singer_source_config import (
    CATALOG_OPTION,
    DISCOVERY_TIMEOUT,
    EXCLUDE,
    INCLUDE,
    SourceConfig,
)

_STEP: Final = 0.5
_LARGEST_CATALOG: Final = 1 << 28


class TapRuns:
    """Starts a tap. For one thread; `wake` ends its waits."""

    def __init__(self, config: SourceConfig, wake: Wake) -> None:
        """Raise ConfigError if the command or the tap's configuration is not on this machine."""
        self._config, self._wake = config, wake
        self.name = name_of(config.values, TAP)
        self._command = command_of(config.values, TAP)
        self._settings = config_text(config.values[CONFIG])
        self._found: Catalog | None = None

    def streams(self) -> list[str]:
        """Return the names of the streams to read; discovers them if need be. Raise ConfigError if there are none."""
        values, catalog = self._config.values, self._catalog()
        matches = matcher(values[INCLUDE] or (), values[EXCLUDE] or ())
        streams = selected_streams(catalog, matches, self._discovered)
        if not streams:
            offered = selected_streams(catalog, matcher((), ()), True)
            named = f"the streams of the catalog are {', '.join(offered[:20])}" if offered else "the catalog has none"
            raise ConfigError.invalid(INCLUDE, values[INCLUDE], f"no stream is selected by it and {EXCLUDE}: {named}")
        return streams

    def start(self, streams: str, state: str | None) -> Child:
        """Start a run that reads one stream, or all (``*``), from a state.

        Raise RetriableError if a discovery fails, which comes first.
        """
        files = {"config": self._settings}
        if self._config.has_catalog:
            chosen = self.streams() if streams == ALL_STREAMS else [streams]
            catalog = selecting(self._catalog(), chosen, self._discovered, self._config.metadata)
            files["catalog"] = json_text(catalog)
        if state is not None:
            files["state"] = state
        options = {"config": "--config", "catalog": self._config.values[CATALOG_OPTION], "state": "--state"}
        return self._child(files, options)

    @property
    def _discovered(self) -> bool:
        return self._config.catalog is None

    def _catalog(self) -> Catalog:
        if self._config.catalog is not None:
            return self._config.catalog
        if self._found is None:
            self._found = self._discover()
        return self._found

    def _discover(self) -> Catalog:
        child = self._child({"config": self._settings}, {"config": "--config"}, "--discover")
        try:
            text = self._output(child)
        finally:
            child.close()
        if child.code != 0:
            raise RetriableError(f"the discovery of tap {self.name} {ending(child)}")
        try:
            return parse_catalog(text)
        except DataError as error:
            advice = "if it cannot discover one, set catalog"
            raise ConfigError(f"tap {self.name} has printed no catalog with --discover ({error}): {advice}") from error

    def _output(self, child: Child) -> bytes:
        """Return all that the child prints. Raise RetriableError if that takes too long."""
        milliseconds = self._config.values[DISCOVERY_TIMEOUT]
        deadline, errors, lines, size = time.monotonic() + milliseconds / 1000, ErrorLog(self.name), [], 0
        while child.code is None:
            if self._wake.woken():
                raise ConnectError(f"the discovery of tap {self.name} was stopped")
            if time.monotonic() > deadline:
                reason = f"takes more than {milliseconds} ms ({DISCOVERY_TIMEOUT})"
                raise RetriableError(f"the discovery of tap {self.name} {reason}")
            child.pump(_STEP)
            errors.log(child)
            while child.lines:
                lines.append(child.lines.popleft())
                size += len(lines[-1])
            if size > _LARGEST_CATALOG:
                raise ConnectError(f"the catalog of tap {self.name} is larger than {_LARGEST_CATALOG} bytes")
        return b"\n".join(lines)

    def _child(self, files: Mapping[str, str], options: Mapping[str, str], *more: str) -> Child:
        return start_child(self._command, files, options, more, self._wake, self._config.values[LINE_BYTES])
