# SPDX-License-Identifier: Apache-2.0
"""Java's definitions of properties as headrace's, and the outcome of Java's validation.

The results need no JVM and can be pickled. Validators that Kafka brings become headrace's, which check the same; others
only describe the valid values, and Java applies them itself. A recommender becomes the values that it has without a
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import headrace.api.validators as ours
from headrace.api.config_def import NO_DEFAULT, ConfigDef, ConfigKey, ConfigValue, Importance, Recommender, Type, Width
from headrace.api.config_types import Password
from headrace.api.errors import DataError
from headrace.java.to_python import schemaless

_CONFIG: Final = "org.apache.kafka.common.config"


@dataclass(frozen=True, slots=True)
class DescribedValidator(ours.Validator):
    """A validator that only Java can apply; here each value is valid."""

    description: str

    def ensure_valid(self, name: str, value: Any) -> None:
        """Accept each value."""

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True, slots=True)
class RecommendedValues(Recommender):
    """The values that a Java recommender has for each configuration."""

    values: tuple[Any, ...]
    shown: bool

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return self.values

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.shown


def python_config_def(definition: Any, class_type: Type = Type.CLASS) -> ConfigDef:
    """Return a Java `ConfigDef` as headrace's.

    Properties of Java's type CLASS have `class_type`, with names of classes as values: STRING lets headrace parse them.
    """
    result = ConfigDef()
    if definition is not None:
        for key in definition.configKeys().values():
            result.define_key(_config_key(key, class_type))
    return result


def python_config_values(values: Iterable[Any]) -> list[ConfigValue]:
    """Return a Java `List<ConfigValue>` as headrace's."""
    return [
        ConfigValue(
            str(value.name()),
            plain(value.value()),
            [plain(each) for each in value.recommendedValues()],
            [str(message) for message in value.errorMessages()],
            bool(value.visible()),
        )
        for value in values
    ]


def plain(value: Any) -> Any:
    """Return the value of a property as headrace has it: classes by their names, passwords hidden as before."""
    name = None if value is None else str(value.getClass().getName())
    if name == f"{_CONFIG}.types.Password":
        return Password(str(value.value()))
    if name == "java.lang.Class":
        return str(value.getName())
    try:
        return schemaless(value)
    except DataError:
        return str(value.toString())


def _config_key(key: Any, class_type: Type) -> ConfigKey:
    read = _public_fields(key)
    name, kind = str(read("name")), Type[str(read("type").name())]
    return ConfigKey(
        name,
        class_type if kind is Type.CLASS else kind,
        plain(read("defaultValue")) if key.hasDefault() else NO_DEFAULT,
        Importance[str(read("importance").name())],
        _text(read("documentation")) or "",
        None if (validator := read("validator")) is None else _validator(validator),
        _text(read("group")),
        int(read("orderInGroup")),
        Width[str(read("width").name())],
        _text(read("displayName")) or name,
        tuple(map(str, read("dependents"))),
        None if (recommender := read("recommender")) is None else _recommender(recommender, name),
    )


def _public_fields(key: Any) -> Callable[[str], Any]:
    # By reflection: ConfigKey has a method with the name of one of them.
    cls = key.getClass()
    return lambda name: cls.getField(name).get(key)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _validator(validator: Any) -> ours.Validator:
    """Return the validator of headrace that checks the same, else one that describes it."""
    kind = str(validator.getClass().getName()).removeprefix(f"{_CONFIG}.ConfigDef$")
    made = _VALIDATORS.get(kind)
    return DescribedValidator(str(validator.toString())) if made is None else made(_private_fields(validator))


def _private_fields(validator: Any) -> Callable[[str], Any]:
    def read(name: str) -> Any:
        field = validator.getClass().getDeclaredField(name)
        field.setAccessible(True)
        value = field.get(validator)
        if name == "validStrings":  # a list, or a set
            return [plain(each) for each in value]
        return value if name == "validators" else plain(value)

    return read


_VALIDATORS: Final[Mapping[str, Callable[[Callable[[str], Any]], ours.Validator]]] = {
    "Range": lambda read: ours.Range(read("min"), read("max")),
    "ValidString": lambda read: ours.ValidString(*read("validStrings")),
    "CaseInsensitiveValidString": lambda read: ours.CaseInsensitiveValidString(*sorted(read("validStrings"))),
    "NonNullValidator": lambda read: ours.NonNull(),
    "NonEmptyString": lambda read: ours.NonEmptyString(),
    "NonEmptyStringWithoutControlChars": lambda read: ours.NonEmptyStringWithoutControlChars(),
    "ListSize": lambda read: ours.ListSize(read("maxSize")),
    "CompositeValidator": lambda read: ours.CompositeValidator(*map(_validator, read("validators"))),
}


def _recommender(recommender: Any, name: str) -> Recommender | None:
    """Return the values that it has without a configuration; None if it needs one."""
    from headrace.java.to_java import java_map

    nothing = java_map({})
    try:
        values, shown = recommender.validValues(name, nothing), recommender.visible(name, nothing)
    except Exception:  # plugins' code, which may count on properties
        return None
    return RecommendedValues(tuple(plain(value) for value in values or ()), bool(shown))
