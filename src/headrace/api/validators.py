# SPDX-License-Identifier: Apache-2.0
"""Validators of properties. `str()` of a validator describes the valid values, for documentation."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.api.java_text import double_text
from headrace.api.protected_files import ensure_writable

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Validator(ABC):
    """A check of the parsed value of one property. Stateless; called on any thread."""

    @abstractmethod
    def ensure_valid(self, name: str, value: Any) -> None:
        """Raise ConfigError if `value`, which may be None, is not valid for property `name`."""

    def normalize(self, value: Any) -> Any:
        """Return the form of a value that `ConfigDef.parse` checks and returns; by default the value itself."""
        return value


class Range(Validator):
    """Numbers of at least `minimum` and at most `maximum`; either may be None. None is not valid."""

    def __init__(self, minimum: float | None = None, maximum: float | None = None) -> None:
        self._minimum = minimum
        self._maximum = maximum

    @classmethod
    def at_least(cls, minimum: float) -> Range:
        """Return a range without a maximum."""
        return cls(minimum)

    @classmethod
    def between(cls, minimum: float, maximum: float) -> Range:
        """Return a range with both limits."""
        return cls(minimum, maximum)

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.invalid(name, value, "Value must be non-null")
        if self._minimum is not None and value < self._minimum:
            raise ConfigError.invalid(name, value, f"Value must be at least {_number(self._minimum)}")
        if self._maximum is not None and value > self._maximum:
            raise ConfigError.invalid(name, value, f"Value must be no more than {_number(self._maximum)}")

    def __str__(self) -> str:
        low = "" if self._minimum is None else f"{_number(self._minimum)},"
        high = "" if self._maximum is None else f",{_number(self._maximum)}"
        return f"[{low}...{high}]"


def _number(value: float) -> str:
    return double_text(value) if isinstance(value, float) else str(value)


class Nullable(Validator):
    """None, and the values that are valid for another validator.

    A value that cannot be parsed is validated as None, so with this validator it has one error, not two.
    """

    def __init__(self, base: Validator) -> None:
        self._base = base

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is not None:
            self._base.ensure_valid(name, value)

    def normalize(self, value: Any) -> Any:
        return None if value is None else self._base.normalize(value)

    def __str__(self) -> str:
        return f"null or {self._base}"


class ValidString(Validator):
    """One of the given texts; None only if it is among them."""

    def __init__(self, *values: str | None) -> None:
        self._values = values

    def ensure_valid(self, name: str, value: Any) -> None:
        if value not in self._values:
            raise ConfigError.invalid(name, value, f"String must be one of: {self._listed()}")

    def __str__(self) -> str:
        return f"[{self._listed()}]"

    def _listed(self) -> str:
        return ", ".join("null" if value is None else value for value in self._values)


class CaseInsensitiveValidString(Validator):
    """One of the given texts, in any case. None is not valid."""

    def __init__(self, *values: str) -> None:
        self._values = [value.upper() for value in values]

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None or value.upper() not in self._values:
            listed = ", ".join(self._values)
            raise ConfigError.invalid(name, value, f"String must be one of (case insensitive): {listed}")

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self._values)}]"


class NonNull(Validator):
    """Anything but None."""

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.invalid(name, value, "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


class NonEmptyString(Validator):
    """A text that is not empty, or None."""

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is not None and not value:
            raise ConfigError.invalid(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class TopicName(NonEmptyString):
    """A text that Kafka accepts as the name of a topic, or None."""

    def ensure_valid(self, name: str, value: Any) -> None:
        super().ensure_valid(name, value)
        if value is not None and (value in (".", "..") or not _TOPIC.fullmatch(value)):
            reason = "a topic's name has 1 to 249 letters, digits, dots, underscores and hyphens"
            raise ConfigError.invalid(name, value, reason)

    def __str__(self) -> str:
        return "name of a topic"


class NonEmptyStringWithoutControlChars(Validator):
    """A text that is not empty and has no control characters, or None."""

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None:
            return
        if not value:
            raise ConfigError.invalid(name, value, "String may not be empty")
        found = [str(ord(char)) for char in value if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
        if found:
            codes = ", ".join(found)
            raise ConfigError.invalid(
                name, value, f"String may not contain control sequences but had the following ASCII chars: {codes}"
            )

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


class ValidList(Validator):
    """Lists without empty entries, of the given texts (of any, when none are given), each once.

    `ConfigDef.parse` drops duplicates; `ConfigDef.validate` reports them.
    """

    def __init__(self, *values: str, allow_empty: bool = True, allow_null: bool = False) -> None:
        self._values = values
        self._allow_empty = allow_empty
        self._allow_null = allow_null

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None:
            if not self._allow_null:
                raise ConfigError(f"Configuration '{name}' values must not be null.", name, value)
            return
        if not value and not self._allow_empty:
            valid = f"[{', '.join(self._values)}]" if self._values else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {valid}", name, value)
        if len(set(value)) < len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.", name, value)
        if any(not str(entry) for entry in value):
            raise ConfigError(f"Configuration '{name}' values must not be empty.", name, value)
        if self._values:
            for entry in value:
                ValidString(*self._values).ensure_valid(name, entry)

    def normalize(self, value: Any) -> Any:
        return None if value is None else list(dict.fromkeys(value))

    def __str__(self) -> str:
        limits = ("" if self._allow_empty else " (empty list not allowed)") + (
            " (null allowed)" if self._allow_null else ""
        )
        return f"[{', '.join(self._values)}]{limits}"


class ListSize(Validator):
    """Lists of at most `maximum` entries. None is not valid."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum

    @classmethod
    def at_most(cls, maximum: int) -> ListSize:
        """Return a limit of `maximum` entries."""
        return cls(maximum)

    def ensure_valid(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.invalid(name, value, "Value must be non-null")
        if len(value) > self._maximum:
            raise ConfigError.invalid(name, value, f"exceeds maximum list size of [{self._maximum}].")

    def __str__(self) -> str:
        return f"List containing maximum of {self._maximum} elements"


class WritablePath(Validator):
    """A local file or directory, or None, that is none of the worker's own code and settings.

    With `uri` a path as Spark understands it, which may be on another machine. It is checked at validation, and again
    when a task parses its configuration, since symbolic links may have changed.
    """

    def __init__(self, *, uri: bool = False) -> None:
        self._uri = uri

    def ensure_valid(self, name: str, value: Any) -> None:
        if value:
            ensure_writable(name, value, uri=self._uri)

    def __str__(self) -> str:
        return "a path that is not the worker's own"


class LambdaValidator(Validator):
    """A validator made of a function that raises ConfigError, and of one that describes the valid values."""

    def __init__(self, check: Callable[[str, Any], None], describe: Callable[[], str]) -> None:
        self._check = check
        self._describe = describe

    def ensure_valid(self, name: str, value: Any) -> None:
        self._check(name, value)

    def __str__(self) -> str:
        return self._describe()


class CompositeValidator(Validator):
    """Values that are valid for all of the given validators; they are not normalized, so lists keep duplicates."""

    def __init__(self, *validators: Validator) -> None:
        self._validators = validators

    def ensure_valid(self, name: str, value: Any) -> None:
        for validator in self._validators:
            validator.ensure_valid(name, value)

    def __str__(self) -> str:
        return ", ".join(str(validator) for validator in self._validators)
