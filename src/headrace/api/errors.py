# SPDX-License-Identifier: Apache-2.0
"""Errors that connectors, transformations and converters raise, and the runtime's reaction to each type.

`ConnectError` is the root. The runtime decides by type: a `RetriableError` is tried again within
`errors.retry.timeout`; a `DataError` concerns one record and may be tolerated by `errors.tolerance=all`; anything else
fails the task or the connector.
"""

from __future__ import annotations

from typing import Final

from headrace.api.java_text import double_text

_LINE_BREAKS: Final = str.maketrans({"\n": "\\n", "\r": "\\r"})


class ConnectError(Exception):
    """Base of all errors of headrace and its plugins. Raised by a plugin, it fails the task or connector."""


class RetriableError(ConnectError):
    """An operation failed that may succeed later: the runtime repeats the call with backoff."""


class DataError(ConnectError):
    """A record, value or schema is not valid. A retry cannot help."""


class SchemaBuilderError(DataError):
    """A schema cannot be built from these attributes, or sets one that its type does not have."""


class ConfigError(ConnectError):
    """A configuration is not valid; `name` and `value` are those of the property, if it is about one.

    Use `ConfigError.invalid` for a property with a bad value, the constructor for other errors.
    """

    name: str | None
    value: object
    also: tuple[str, ...]
    """Other properties that the error is reported for as well."""

    def __init__(
        self, message: str, name: str | None = None, value: object = None, *, also: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
        self.also = also

    @classmethod
    def invalid(cls, name: str, value: object, reason: str | None = None) -> ConfigError:
        """Return the error for a bad value of property `name`: `Invalid value 'x' for configuration y: reason`."""
        shown = "null" if value is None else f"'{_shown(value)}'"
        return cls(f"Invalid value {shown} for configuration {name}" + (f": {reason}" if reason else ""), name, value)


def _shown(value: object) -> str:
    """Return a value as a configuration would write it."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return double_text(value)
        case list() | tuple():
            return f"[{', '.join(map(_shown, value))}]"
        case type():
            return f"{value.__module__}.{value.__qualname__}"
    return str(value).translate(_LINE_BREAKS)
