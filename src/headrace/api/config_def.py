# SPDX-License-Identifier: Apache-2.0
"""Definitions of configuration properties: types, defaults, validation, documentation (Java: `ConfigDef`).

A connector, transformation or converter returns its definition from `config()`::

    CONFIG = (
        ConfigDef()
        .define("file", ConfigType.STRING, importance=Importance.HIGH, doc="The file to read.")
        .define("batch.size", ConfigType.INT, 2000, validator=Range(1), doc="Lines per batch at most.")
    )

and reads its properties with it: `CONFIG.parse(props)["batch.size"]` is an int.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, Final

from headrace.api.config_types import HIDDEN, ClassLoader, Password, Type, load_class, parse_type, value_to_string
from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError
from headrace.api.validators import Validator

__all__ = [
    "HIDDEN",
    "NO_DEFAULT",
    "ClassLoader",
    "ConfigDef",
    "ConfigKey",
    "ConfigValue",
    "Importance",
    "Password",
    "Recommender",
    "Type",
    "Width",
    "load_class",
    "parse_type",
    "value_to_string",
]


class Importance(Enum):
    """The importance of a property to a user."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


_IMPORTANCES: Final = tuple(Importance)


class Width(Enum):
    """The width of a property's field in a form."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class _NoDefault(Enum):
    NO_DEFAULT = "no default"

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault.NO_DEFAULT
"""The default of a required property. None is a default like any other."""


class Recommender(ABC):
    """Suggests values for a property, and decides whether it applies, given the other properties."""

    @abstractmethod
    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values to choose from; may be empty. A ConfigError is reported as an error of the property."""

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Return True if a form should show the property."""
        return True


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The definition of one property; `ConfigDef.define` explains the fields."""

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
        """True unless the property is required."""
        return self.default is not NO_DEFAULT


@dataclass(slots=True)
class ConfigValue:
    """The outcome of validating one property; overrides of `Connector.validate` may add error messages."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    error_messages: list[str] = field(default_factory=list)
    visible: bool = True

    def add_error_message(self, message: str) -> None:
        """Add a message that the user sees beside the property."""
        self.error_messages.append(message)


class _EmbeddedRecommender(Recommender):
    """A recommender that is given its properties by their names without the prefix."""

    def __init__(self, prefix: str, base: Recommender) -> None:
        self._prefix = prefix
        self._base = base

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return self._base.valid_values(name.removeprefix(self._prefix), self._own(parsed))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self._base.visible(name.removeprefix(self._prefix), self._own(parsed))

    def _own(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        prefix = self._prefix
        return {name.removeprefix(prefix): value for name, value in parsed.items() if name.startswith(prefix)}


class ConfigDef:
    """An ordered set of property definitions, built with `define`, to parse and validate properties with.

    The constructor copies the definitions of `bases`. Not thread-safe while it is built; after that any thread may use
    it.
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

        `default` is text or a value, and must be valid; without a default the property is required. `group`,
        `order_in_group`, `width` and `display_name` describe it in forms. `dependents` are the properties whose
        recommended values depend on this one. Raise ConfigError if the name is taken or the default is not valid.
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
        """Add a property by its complete definition, such as one of another ConfigDef."""
        if key.name in self._keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.", key.name)
        if key.validator is not None and key.has_default:
            key.validator.ensure_valid(key.name, key.default)
        self._keys[key.name] = key
        return self

    def prefixed(self, prefix: str) -> ConfigDef:
        """Return the same definitions with `prefix` before their names.

        Dependents and recommenders still work; validators are given the full names, so their messages name the
        property that the user wrote.
        """
        result = ConfigDef()
        for key in self._keys.values():
            dependents = tuple(prefix + name for name in key.dependents)
            recommender = None if key.recommender is None else _EmbeddedRecommender(prefix, key.recommender)
            result.define_key(replace(key, name=prefix + key.name, dependents=dependents, recommender=recommender))
        return result

    def embed(self, prefix: str, group: str, first_order: int, child: ConfigDef) -> ConfigDef:
        """Add all properties of `child`, `prefixed`, and return this definition.

        A property of the child's group `g` is put into the group `group: g`, one without a group into `group`, numbered
        from `first_order` on in the order of `sorted_keys`.
        """
        for order, key in enumerate(child.prefixed(prefix).sorted_keys(), first_order):
            whole = group if key.group is None else f"{group}: {key.group}"
            self.define_key(replace(key, group=whole, order_in_group=order))
        return self

    def sorted_keys(self) -> list[ConfigKey]:
        """Return the definitions in documentation order: by group and order in it, required and important first."""
        groups = {group: number for number, group in enumerate(self.groups)}

        def place(key: ConfigKey) -> tuple[int, int, bool, int, str]:
            group = -1 if key.group is None else groups[key.group]
            return group, key.order_in_group, key.has_default, _IMPORTANCES.index(key.importance), key.name

        return sorted(self._keys.values(), key=place)

    @property
    def config_keys(self) -> Mapping[str, ConfigKey]:
        """The definitions by name, in the order of their addition. Do not change it."""
        return self._keys

    @property
    def names(self) -> list[str]:
        """Return the names of all properties, in the order of their addition."""
        return list(self._keys)

    @property
    def groups(self) -> list[str]:
        """Return the groups, in the order of their first property."""
        return list(dict.fromkeys(key.group for key in self._keys.values() if key.group is not None))

    def default_values(self) -> dict[str, Any]:
        """Return the defaults of the properties that have one."""
        return {name: key.default for name, key in self._keys.items() if key.has_default}

    def parse(self, props: Mapping[str, Any], load_class: ClassLoader = load_class) -> dict[str, Any]:
        """Return the values of all defined properties; undefined ones are left out.

        Raise ConfigError for the first property that is missing or not valid. A property given as None is None,
        whatever its default. `load_class` finds the classes of properties of `Type.CLASS`.
        """
        undefined = self._undefined_dependents()
        if undefined:
            names = ",".join(undefined)
            raise ConfigError(f"Some configurations are referred in the dependents, but not defined: {names}")
        return {key.name: _parse_value(key, props, load_class) for key in self._keys.values()}

    def validate(self, props: Mapping[str, Any], load_class: ClassLoader = load_class) -> list[ConfigValue]:
        """Return the value, the recommended values and all errors of each defined property.

        Unlike `parse` it keeps lists as they are given: a duplicate that `parse` would drop is an error here.
        """
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
    if key.validator is not None:
        value = key.validator.normalize(value)
        _ensure_valid(key, value)
    return value


def _validate_value(key: ConfigKey, props: Mapping[str, Any], value: ConfigValue, load_class: ClassLoader) -> None:
    """Fill in `value` and its errors; a value that is missing or cannot be parsed is validated as None too."""
    try:
        value.value = _raw_value(key, props, load_class)
    except ConfigError as error:
        value.add_error_message(error_text(error))
    try:
        _ensure_valid(key, value.value)
    except ConfigError as error:
        value.add_error_message(error_text(error))


def _ensure_valid(key: ConfigKey, value: Any) -> None:
    if key.validator is None:
        return
    try:
        key.validator.ensure_valid(key.name, value)
    except (AttributeError, TypeError) as error:
        # Validators may not expect None, which an explicit null gives them.
        if value is not None:
            raise
        raise ConfigError.invalid(key.name, value, "Value must be non-null") from error


def _recommend(recommender: Recommender, parsed: Mapping[str, Any], value: ConfigValue) -> None:
    try:
        value.recommended_values = list(recommender.valid_values(value.name, parsed))
        value.visible = recommender.visible(value.name, parsed)
    except ConfigError as error:
        value.add_error_message(error_text(error))
