# SPDX-License-Identifier: Apache-2.0
"""A configuration whose references have been replaced by values, and the way back to the references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.api.config_def import HIDDEN, ConfigValue
from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError
from headrace.model.cluster_config_state import Config

RELOAD_ACTION: Final = "config.action.reload"
_LEAST: Final = 4
"""Characters; a shorter value is hidden only in quotes, as errors show bad values, so that texts stay legible."""
_TELLING: Final = 8
"""Characters from which a value that turns up in another property is no coincidence."""


@dataclass(frozen=True, slots=True, repr=False)
class ResolvedConfig:
    """``given`` is as written, ``config`` is what to run with. ``values`` has the value of each reference.

    ``ttl`` is how many seconds all values are good, None if for good. ``secrets`` are values that are written out, and
    not to be told either. Immutable; shows no values by itself.
    """

    given: Config
    config: Config
    values: Mapping[str, str]
    ttl: float | None = None
    secrets: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"ResolvedConfig({self.hide(str(dict(self.given)))}, ttl={self.ttl})"

    @property
    def referring(self) -> frozenset[str]:
        """The properties that had references which were resolved."""
        return frozenset(name for name, text in self.config.items() if text != self.given.get(name))

    @property
    def reloads(self) -> bool:
        """Whether a change of the values restarts what runs with them (``config.action.reload``)."""
        return self.ttl is not None and (self.config.get(RELOAD_ACTION) or "restart").strip().lower() == "restart"

    def with_value(self, name: str, text: str) -> ResolvedConfig:
        return replace(self, config={**self.config, name: text})

    def along_with(self, other: ResolvedConfig) -> ResolvedConfig:
        """This configuration, with the values of another one too, good as long as both are."""
        ttls = [ttl for ttl in (self.ttl, other.ttl) if ttl is not None]
        values, secrets = {**self.values, **other.values}, self.secrets | other.secrets
        return replace(self, values=values, ttl=min(ttls, default=None), secrets=secrets)

    def hide(self, text: str) -> str:
        """An error's text with references where it shows values, and nothing where it shows secrets."""
        return self._hide(text, [*((secret, HIDDEN) for secret in self.secrets), *_turned(self.values)])

    def _hide(self, text: str, hidden: Iterable[tuple[str, str]]) -> str:
        shown: dict[str, str] = {}
        for value, reference in hidden:
            for form in _forms(value):
                if len(form) >= _LEAST:
                    shown[form] = reference
                elif form:
                    shown[f"'{form}'"] = f"'{reference}'"
        if not shown:
            return text
        pattern = "|".join(re.escape(form) for form in sorted(shown, key=len, reverse=True))
        return re.sub(pattern, lambda match: shown[match[0]], text)

    @contextmanager
    def hidden_errors(self) -> Iterator[None]:
        """A ConfigError from inside comes out with references in place of values, and without its cause."""
        try:
            yield
        except ConfigError as error:
            if not self.values and not self.secrets:
                raise
            value = self.given.get(error.name) if error.name in self.referring and error.name else error.value
            raise ConfigError(self.hide(error_text(error)), error.name, value) from None

    def conceal(self, values: Sequence[ConfigValue]) -> list[ConfigValue]:
        """The outcome of a validation with references in place of values; ``values`` stay as they are."""
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
        """What a connector made for a task, ready to be stored: with references again. Java: ``reverseTransform``.

        A property that the connector's configuration has with references is written so again. In others a value that
        is long enough to be told gives way to its reference.
        """
        restored = dict(task_config)
        for name in task_config:
            written = self.given.get(name)
            if name in self.referring and written is not None:
                restored[name] = written
            else:
                for reference, value in self.values.items():
                    if len(value) >= _TELLING:
                        restored[name] = restored[name].replace(value, reference)
        return restored

    def _hide_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._hide(value, _turned(self.values))
        return [self._hide_in(each) for each in value] if isinstance(value, list) else value


def _turned(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((value, reference) for reference, value in values.items())


def _forms(value: str) -> set[str]:
    """The ways in which errors show a value: as it is, trimmed, in one line, and a list's entries one by one."""
    in_line = value.replace("\n", "\\n").replace("\r", "\\r")
    return {value, value.strip(), in_line, repr(value)[1:-1], *(entry.strip() for entry in value.split(","))}
