# SPDX-License-Identifier: Apache-2.0
"""Definitions of configuration properties: types, defaults, validation, documentation (Java: `ConfigDef`)."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final

from headrace.api.errors import ConfigError
from headrace.api.java_text import double_text
from headrace.api.validators import Validator

_LIST_SEPARATOR: Final = re.compile(r"\s*,\s*")
_DECIMAL_DOUBLE: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|Infinity)[fFdD]?")
_HEX_DOUBLE: Final = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?")


class Type(Enum):
    """Types of properties. The values are what the REST API shows."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(Enum):
    """How much a property matters to a user."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    """How much room a form should give a property."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


_INTEGER_BITS: Final[Mapping[Type, int]] = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
HIDDEN: Final = "[hidden]"


@dataclass(frozen=True, slots=True, repr=False)
class Password:
    """A value that shows itself only when asked: `value`."""

    value: str

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__


class _NoDefault(Enum):
    NO_DEFAULT = "no default"

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault.NO_DEFAULT
"""Default of a property that must be given. None is a default like others."""


class Recommender(ABC):
    """Suggests values for a property in view of the other properties, and tells whether it matters at all."""

    @abstractmethod
    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        """Values to choose from; may be empty. ConfigError is reported as an error of the property."""

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Whether a form should show the property."""
        return True


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The definition of one property, as `ConfigDef.define` takes it."""

    name: str
    type: Type
    default: Any = NO_DEFAULT
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str = ""
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


@dataclass(slots=True)
class ConfigValue:
    """What validation found out about one property. `error_messages` may be added to."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    error_messages: list[str] = field(default_factory=list)
    visible: bool = True

    def add_error_message(self, message: str) -> None:
        self.error_messages.append(message)


def load_class(name: str) -> type:
    """The class with a dotted name (`module.Class`, also `module:Class`). LookupError if there is none."""
    module_name, _, class_name = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(name) from error
    if not isinstance(found, type):
        raise LookupError(name)
    return found


ClassLoader = Callable[[str], type]


class ConfigDef:
    """An ordered set of property definitions, built with `define` and used to parse and validate properties.

    `ConfigDef().define("file", Type.STRING, doc="…").define("batch.size", Type.INT, 2000, validator=Range(1))`
    """

    NO_DEFAULT: ClassVar = NO_DEFAULT

    def __init__(self, *bases: ConfigDef) -> None:
        self._keys: dict[str, ConfigKey] = {}
        for base in bases:
            for key in base._keys.values():
                self.define_key(key)

    def define(
        self,
        name: str,
        type: Type,
        default: Any = NO_DEFAULT,
        *,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        validator: Validator | None = None,
        group: str | None = None,
        order_in_group: int = -1,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
    ) -> ConfigDef:
        """Add a property and return this definition.

        `default` is given as text or value and must be valid; without one the property is required. `group`,
        `order_in_group`, `width` and `display_name` are for forms. `dependents` are properties whose recommended
        values depend on this one. ConfigError if the name is taken or the default is not valid.
        """
        if default is not NO_DEFAULT:
            default = parse_type(name, default, type)
        shown = display_name or name
        return self.define_key(
            ConfigKey(
                name, type, default, importance, doc, validator, group, order_in_group, width, shown,
                tuple(dependents), recommender,
            )
        )  # fmt: skip

    def define_key(self, key: ConfigKey) -> ConfigDef:
        """Add a property by its whole definition, for instance one of another ConfigDef."""
        if key.name in self._keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.", key.name)
        if key.validator is not None and key.has_default:
            key.validator.ensure_valid(key.name, key.default)
        self._keys[key.name] = key
        return self

    @property
    def config_keys(self) -> Mapping[str, ConfigKey]:
        """The definitions by name, in the order of their addition. Not to be changed."""
        return self._keys

    @property
    def names(self) -> list[str]:
        """The names of all properties, in the order of their addition."""
        return list(self._keys)

    @property
    def groups(self) -> list[str]:
        """The groups, in the order of their first property."""
        return list(dict.fromkeys(key.group for key in self._keys.values() if key.group is not None))

    def default_values(self) -> dict[str, Any]:
        """The defaults of the properties that have one."""
        return {name: key.default for name, key in self._keys.items() if key.has_default}

    def parse(self, props: Mapping[str, Any], load_class: ClassLoader = load_class) -> dict[str, Any]:
        """The values of all defined properties; others are left out. ConfigError at the first one not valid.

        A property given as None is None, whatever its default.
        """
        undefined = self._undefined_dependents()
        if undefined:
            raise ConfigError(f"Some configurations are referred in the dependents, but not defined: {undefined}")
        return {key.name: _parse_value(key, props, load_class) for key in self._keys.values()}

    def validate(self, props: Mapping[str, Any], load_class: ClassLoader = load_class) -> list[ConfigValue]:
        """Every defined property with its value, recommended values and all that is wrong with it."""
        values = {name: ConfigValue(name) for name in self._keys}
        for name in self._undefined_dependents():
            message = f"{name} is referred in the dependents, but not defined."
            values[name] = ConfigValue(name, error_messages=[message], visible=False)
        for key in self._keys.values():
            _validate_value(key, props, values[key.name], load_class)
        parsed = {name: value.value for name, value in values.items()}
        for key in self._keys.values():
            if key.recommender is not None:
                _recommend(key.recommender, parsed, values[key.name])
        return list(values.values())

    def _undefined_dependents(self) -> list[str]:
        dependents = [name for key in self._keys.values() for name in key.dependents]
        return [name for name in dict.fromkeys(dependents) if name not in self._keys]


def _raw_value(key: ConfigKey, props: Mapping[str, Any], load_class: ClassLoader) -> Any:
    if key.name in props:
        return parse_type(key.name, props[key.name], key.type, load_class)
    if not key.has_default:
        raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.', key.name)
    return key.default


def _parse_value(key: ConfigKey, props: Mapping[str, Any], load_class: ClassLoader) -> Any:
    value = _raw_value(key, props, load_class)
    if key.validator is None:
        return value
    key.validator.ensure_valid(key.name, value)
    return key.validator.normalize(value)


def _validate_value(key: ConfigKey, props: Mapping[str, Any], value: ConfigValue, load_class: ClassLoader) -> None:
    try:
        value.value = _raw_value(key, props, load_class)
        value.value = _parse_value(key, props, load_class)
    except ConfigError as error:
        value.add_error_message(str(error))


def _recommend(recommender: Recommender, parsed: Mapping[str, Any], value: ConfigValue) -> None:
    try:
        value.recommended_values = list(recommender.valid_values(value.name, parsed))
        value.visible = recommender.visible(value.name, parsed)
    except ConfigError as error:
        value.add_error_message(str(error))


def parse_type(name: str, value: Any, type: Type, load_class: ClassLoader = load_class) -> Any:
    """The value of a property of that type from its text, or from a value that already is one. None stays None.

    Text is trimmed, also of strings and passwords. ConfigError names the property.
    """
    if value is None:
        return None
    trimmed = value.strip() if isinstance(value, str) else value
    if type in _INTEGER_BITS:
        return _parse_integer(name, trimmed, type)
    if type is Type.CLASS:
        return _parse_class(name, trimmed, load_class)
    return _PARSERS[type](name, trimmed)


def _parse_integer(name: str, value: Any, type: Type) -> int:
    limit = 1 << (_INTEGER_BITS[type] - 1)
    number: int | None = None
    if isinstance(value, str) and "_" not in value:
        try:
            number = int(value)
        except ValueError:
            number = None
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None or not -limit <= number < limit:
        raise ConfigError.invalid(name, value, f"Not a number of type {type.value}")
    return number


def _parse_double(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if _DECIMAL_DOUBLE.fullmatch(value):
            return float(value.rstrip("fFdD"))
        hexadecimal = _HEX_DOUBLE.fullmatch(value)
        if hexadecimal:
            return float.fromhex(hexadecimal[1])
    raise ConfigError.invalid(name, value, "Not a number of type DOUBLE")


def _parse_boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ConfigError.invalid(name, value, "Expected value to be either true or false")


def _parse_string(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ConfigError.invalid(name, value, f"Expected value to be a string, but it was a {type(value).__name__}")


def _parse_list(name: str, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        return _LIST_SEPARATOR.split(value) if value else []
    raise ConfigError.invalid(name, value, "Expected a comma separated list.")


def _parse_password(name: str, value: Any) -> Password:
    if isinstance(value, Password):
        return value
    if isinstance(value, str):
        return Password(value)
    raise ConfigError.invalid(name, HIDDEN, f"Expected value to be a string, but it was a {type(value).__name__}")


def _parse_class(name: str, value: Any, load_class: ClassLoader) -> type:
    if isinstance(value, type):
        return value
    if not isinstance(value, str):
        raise ConfigError.invalid(name, value, "Expected a class or the name of one.")
    try:
        return load_class(value)
    except LookupError as error:
        raise ConfigError.invalid(name, value, f"Class {value} could not be found.") from error


_PARSERS: Final[Mapping[Type, Callable[[str, Any], Any]]] = {
    Type.BOOLEAN: _parse_boolean,
    Type.STRING: _parse_string,
    Type.DOUBLE: _parse_double,
    Type.LIST: _parse_list,
    Type.PASSWORD: _parse_password,
}


def value_to_string(value: Any, type: Type) -> str | None:
    """The text from which `parse_type` makes `value` again; a password stays hidden."""
    if value is None:
        return None
    if type is Type.BOOLEAN:
        return "true" if value else "false"
    if type is Type.DOUBLE:
        return double_text(float(value))
    if type is Type.LIST:
        return ",".join(str(entry) for entry in value)
    if type is Type.CLASS:
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)
