# SPDX-License-Identifier: Apache-2.0
"""Types of configuration properties: from text to values and back (Java: `ConfigDef.parseType`)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.api.java_text import double_text

_BLANK: Final = "".join(map(chr, range(0x21)))
"""The characters that Java's `trim` removes: all up to the space, and no other white space of Unicode."""
_LIST_SEPARATOR: Final = re.compile(r"\s*,\s*", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d{1,40}")
_DECIMAL_DOUBLE: Final = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|Infinity)[fFdD]?", re.ASCII
)  # fmt: skip
_HEX_DOUBLE: Final = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")


class Type(Enum):
    """The types of properties; the values are the names that the REST API shows."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


_INTEGER_BITS: Final[Mapping[Type, tuple[int, str]]] = {
    Type.SHORT: (16, "16-bit integer (short)"),
    Type.INT: (32, "32-bit integer"),
    Type.LONG: (64, "64-bit integer (long)"),
}
HIDDEN: Final = "[hidden]"


@dataclass(frozen=True, slots=True, repr=False)
class Password:
    """A secret that `str` and `repr` hide; `value` is the text itself."""

    value: str

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__


ClassLoader = Callable[[str], type]
"""A function from a name to its class. It raises LookupError if there is none; unless that is a KeyError, its text is
shown to the user as the reason."""


def load_class(name: str) -> type:
    """Return the class with a dotted name (`module.Class` or `module:Class`). Raise LookupError if there is none."""
    module_name, _, class_name = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError from error
    if not isinstance(found, type):
        raise LookupError
    return found


def parse_type(name: str, value: Any, type: Type, load_class: ClassLoader = load_class) -> Any:
    """Return the value of a property of this type, from its text or from a value that already is one.

    None stays None. Text is trimmed, also that of strings and passwords. Raise ConfigError, naming the property, if
    the text is not of the type.
    """
    if value is None:
        return None
    if type in _INTEGER_BITS:
        return _parse_integer(name, value, type)
    if type is Type.CLASS:
        return _parse_class(name, value, load_class)
    return _PARSERS[type](name, value)


def _parse_integer(name: str, value: Any, type: Type) -> int:
    bits, noun = _INTEGER_BITS[type]
    number: int | None = None
    if isinstance(value, str):
        text = value.strip(_BLANK)
        number = int(text) if _INTEGER.fullmatch(text) else None
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise _other_type(name, value, noun)
    if number is None or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ConfigError.invalid(name, value, f"Not a number of type {type.value}")
    return number


def _parse_double(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise _other_type(name, value, "double")
    text = value.strip(_BLANK)
    if _DECIMAL_DOUBLE.fullmatch(text):
        return float(text.rstrip("fFdD"))
    hexadecimal = _HEX_DOUBLE.fullmatch(text)
    if hexadecimal is None:
        raise ConfigError.invalid(name, value, "Not a number of type DOUBLE")
    try:
        return float.fromhex(hexadecimal[1])
    except OverflowError:
        return float("-inf" if text.startswith("-") else "inf")


def _parse_boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip(_BLANK).lower() if isinstance(value, str) else None
    if text not in ("true", "false"):
        raise ConfigError.invalid(name, value, "Expected value to be either true or false")
    return text == "true"


def _parse_string(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value.strip(_BLANK)
    raise _other_type(name, value, "string")


def _parse_list(name: str, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        raise ConfigError.invalid(name, value, "Expected a comma separated list.")
    text = value.strip(_BLANK)
    return _LIST_SEPARATOR.split(text) if text else []


def _parse_password(name: str, value: Any) -> Password:
    if isinstance(value, Password):
        return value
    if isinstance(value, str):
        return Password(value.strip(_BLANK))
    raise ConfigError.invalid(name, HIDDEN, _expected("string", value))


def _parse_class(name: str, value: Any, load_class: ClassLoader) -> type:
    if isinstance(value, type):
        return value
    if not isinstance(value, str):
        raise ConfigError.invalid(name, value, "Expected a Class instance or class name.")
    try:
        return load_class(value.strip(_BLANK))
    except LookupError as error:
        reason = f": {error}" if error.args and not isinstance(error, KeyError) else "."
        raise ConfigError.invalid(name, value, f"Class {value} could not be found{reason}") from error


def _other_type(name: str, value: Any, noun: str) -> ConfigError:
    return ConfigError.invalid(name, value, _expected(noun, value))


def _expected(noun: str, value: Any) -> str:
    return f"Expected value to be a {noun}, but it was a {type(value).__name__}"


_PARSERS: Final[Mapping[Type, Callable[[str, Any], Any]]] = {
    Type.BOOLEAN: _parse_boolean,
    Type.STRING: _parse_string,
    Type.DOUBLE: _parse_double,
    Type.LIST: _parse_list,
    Type.PASSWORD: _parse_password,
}


def value_to_string(value: Any, type: Type | None) -> str | None:
    """Return the text that `parse_type` would parse to `value`; a password stays hidden.

    `type` None: the type is not known.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or type is Type.DOUBLE:
        return double_text(float(value))
    if type is Type.LIST:
        return ",".join(str(entry) for entry in value)
    if type is Type.CLASS and not isinstance(value, str):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)
