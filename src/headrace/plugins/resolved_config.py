# SPDX-License-Identifier: Apache-2.0
"""A configuration with its references resolved to values, which can restore the references in texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.api.config_def import HIDDEN, ConfigValue
from headrace.api.error_text import error_text, hide_at_cuts
from headrace.api.errors import ConfigError
from headrace.model.cluster_config_state import Config

RELOAD_ACTION: Final = "config.action.reload"
_SHORTEST: Final = 4
"""Characters; a shorter value is hidden only in quotes, as errors show values, so that texts stay legible."""
_DISTINCTIVE: Final = 8
"""Characters; a value as long in another property is no coincidence."""


@dataclass(frozen=True, slots=True, repr=False)
class ResolvedConfig:
    """A configuration before (``given``) and after (``config``) its references were resolved.

    ``values`` has the value of each reference. ``ttl`` is the time in seconds for which all values are valid, None for
    no limit. ``secrets`` are values in plain text that must be hidden too. Immutable; its ``repr`` shows no values.
    """

    given: Config
    config: Config
    values: Mapping[str, str]
    ttl: float | None = None
    secrets: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"ResolvedConfig({self.hide(str(dict(self.given)))}, ttl={self.ttl})"

    @property
    def properties(self) -> dict[str, str]:
        """The resolved properties that have a value."""
        return {name: text for name, text in self.config.items() if text is not None}

    @property
    def referring(self) -> frozenset[str]:
        """The properties with resolved references."""
        return frozenset(name for name, text in self.config.items() if text != self.given.get(name))

    @property
    def reloads(self) -> bool:
        """True if a change of the values restarts the connector (``config.action.reload``)."""
        return self.ttl is not None and (self.config.get(RELOAD_ACTION) or "restart").strip().lower() == "restart"

    def with_value(self, name: str, text: str) -> ResolvedConfig:
        return replace(self, config={**self.config, name: text})

    def along_with(self, other: ResolvedConfig) -> ResolvedConfig:
        """Return this configuration with the values of another one too, valid as long as both are."""
        ttls = [ttl for ttl in (self.ttl, other.ttl) if ttl is not None]
        values, secrets = {**self.values, **other.values}, self.secrets | other.secrets
        return replace(self, values=values, ttl=min(ttls, default=None), secrets=secrets)

    def hide(self, text: str) -> str:
        """Return an error's text with references in place of values, and without secrets."""
        return self._hide(text, [*((secret, HIDDEN) for secret in self.secrets), *_value_first(self.values)])

    def _hide(self, text: str, hidden: Iterable[tuple[str, str]]) -> str:
        shown: dict[str, str] = {}
        for value, reference in hidden:
            for form in _forms(value):
                if len(form) >= _SHORTEST:
                    shown[form] = reference
                elif form:
                    shown[f"'{form}'"] = f"'{reference}'"
        if not shown:
            return text
        pattern = "|".join(re.escape(form) for form in sorted(shown, key=len, reverse=True))
        return re.sub(pattern, lambda match: shown[match[0]], hide_at_cuts(text, shown))

    @contextmanager
    def hidden_errors(self) -> Iterator[None]:
        """Hide values in a ConfigError that is raised inside the context, and drop its cause."""
        try:
            yield
        except ConfigError as error:
            if not self.values and not self.secrets:
                raise
            value = self.given.get(error.name) if error.name in self.referring and error.name else error.value
            raise ConfigError(self.hide(error_text(error)), error.name, value) from None

    def conceal(self, values: Sequence[ConfigValue]) -> list[ConfigValue]:
        """Return the outcome of a validation with references in place of values; ``values`` are not changed."""
        return [self._conceal(value) for value in values]

    def _conceal(self, value: ConfigValue) -> ConfigValue:
        shown = self.given.get(value.name) if value.name in self.referring else self._hide_in(value.value)
        return replace(
            value,
            value=shown,
            recommended_values=[self._hide_in(each) for each in value.recommended_values],
            error_messages=[self.hide(message) for message in value.error_messages],
        )

    def restore(self, task_config: Mapping[str, str]) -> dict[str, str]:
        """Return a task's configuration with references in place of values, for storage. Java: ``reverseTransform``.

        A property that has references in the connector's configuration gets them back. In other properties, values that
        are long enough to be distinctive are replaced by their references.
        """
        restored = dict(task_config)
        for name in task_config:
            written = self.given.get(name)
            if name in self.referring and written is not None:
                restored[name] = written
            else:
                for reference, value in self.values.items():
                    if len(value) >= _DISTINCTIVE:
                        restored[name] = restored[name].replace(value, reference)
        return restored

    def _hide_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._hide(value, _value_first(self.values))
        return [self._hide_in(each) for each in value] if isinstance(value, list) else value


def _value_first(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((value, reference) for reference, value in values.items())


def _forms(value: str) -> set[str]:
    """Return the forms in which errors show a value: unchanged, trimmed, in one line, and each entry of a list."""
    in_line = value.replace("\n", "\\n").replace("\r", "\\r")
    return {value, value.strip(), in_line, repr(value)[1:-1], *(entry.strip() for entry in value.split(","))}
