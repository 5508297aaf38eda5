# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, Password, Recommender, Type, parse_type, value_to_string
from headrace.api.errors import ConfigError
from headrace.api.validators import (
    CaseInsensitiveValidString,
    LambdaValidator,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    Validator,
    ValidList,
    ValidString,
)
from tests.support.vectors import load

JAVA_CLASSES = {name: type(name, (), {}) for name in ("java.lang.Integer", "java.lang.String", "java.util.ArrayList")}


class VectorRecommender(Recommender):
    def __init__(self, described: Mapping[str, Any]) -> None:
        self._described = described

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return list(self._described["values"])

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        when = self._described.get("visibleWhen")
        return when is None or parsed[when] == self._described["visibleEquals"]


def validator(described: Mapping[str, Any] | None) -> Validator | None:
    if described is None:
        return None
    values = described.get("values", ())
    options = {"allow_empty": described.get("allowEmpty", True), "allow_null": described.get("allowNull", False)}
    makers = {
        "atLeast": lambda: Range.at_least(described["min"]),
        "between": lambda: Range.between(described["min"], described["max"]),
        "validString": lambda: ValidString(*values),
        "caseInsensitiveValidString": lambda: CaseInsensitiveValidString(*values),
        "validList": lambda: ValidList(*values, **options),
        "noDuplicates": lambda: ValidList(**options),
        "nonNull": NonNull,
        "nonEmptyString": NonEmptyString,
        "nonEmptyStringWithoutControlChars": NonEmptyStringWithoutControlChars,
    }
    return makers[described["kind"]]()


def load_class(name: str) -> type:
    return JAVA_CLASSES[name]


def definition(defs: list[dict[str, Any]]) -> ConfigDef:
    result = ConfigDef()
    for given in defs:
        recommender = given.get("recommender")
        default = given.get("default", ConfigDef.NO_DEFAULT)
        result.define(
            given["name"],
            Type(given["type"]),
            JAVA_CLASSES.get(default, default) if isinstance(default, str) else default,
            validator=validator(given.get("validator")),
            dependents=given.get("dependents", ()),
            recommender=None if recommender is None else VectorRecommender(recommender),
        )
    return result


def shown(value: Any) -> Any:
    """A value as the vectors write it."""
    if isinstance(value, Password):
        return {"$password": value.value}
    if isinstance(value, type):
        return {"$class": value.__name__}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def run(vector: dict[str, Any]) -> Any:
    given = vector["input"]
    match vector["op"]:
        case "parse":
            parsed = definition(given["defs"]).parse(vector["config"], load_class)
            return {name: shown(value) for name, value in parsed.items()}
        case "validate":
            return [
                {
                    "name": value.name,
                    "value": shown(value.value),
                    "recommendedValues": value.recommended_values,
                    "errors": value.error_messages,
                    "visible": value.visible,
                }
                for value in definition(given["defs"]).validate(vector["config"], load_class)
            ]
        case "parseType":
            return shown(parse_type("cfg", given["value"], Type(given["type"]), load_class))
    kind = Type(given["type"])
    value = parse_type("cfg", given["value"], kind, load_class)
    return value.__name__ if kind is Type.CLASS else value_to_string(value, kind)


def unquoted(message: str) -> str:
    """Our messages put the value in quotation marks, Java's do not."""
    return message.replace("value '", "value ").replace("' for", " for")


@pytest.mark.parametrize("vector", load("configdef"))
def test_as_java(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(ConfigError) as raised:
            run(vector)
        if "java." not in vector["error"]["message"]:
            assert unquoted(str(raised.value)) == vector["error"]["message"]
        return
    actual = run(vector)
    if vector["op"] == "validate":
        actual = [entry | {"errors": [unquoted(message) for message in entry["errors"]]} for entry in actual]
    assert actual == vector["output"]


def test_an_error_knows_its_property_and_value() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value '0' for configuration tasks\.max: ") as raised:
        ConfigDef().define("tasks.max", Type.INT, validator=Range(1)).parse({"tasks.max": "0"})
    assert (raised.value.name, raised.value.value) == ("tasks.max", 0)


def test_a_password_never_shows() -> None:
    parsed = ConfigDef().define("secret", Type.PASSWORD).parse({"secret": "hunter2"})
    assert "hunter2" not in f"{parsed} {parsed['secret']}"
    with pytest.raises(ConfigError) as raised:
        parse_type("secret", 12345, Type.PASSWORD)
    assert "12345" not in str(raised.value)


def test_classes_are_found_by_name() -> None:
    assert parse_type("c", "headrace.api.schema.Struct", Type.CLASS).__name__ == "Struct"
    assert parse_type("c", "headrace.api.schema:Struct", Type.CLASS).__name__ == "Struct"
    for missing in ("headrace.nowhere.Thing", "headrace.api.schema.Nothing", "headrace.api.schema.DATE", "x"):
        with pytest.raises(ConfigError, match="could not be found"):
            parse_type("c", missing, Type.CLASS)


def test_a_lambda_validates() -> None:
    def even(name: str, value: Any) -> None:
        if value % 2:
            raise ConfigError.invalid(name, value, "must be even")

    defined = ConfigDef().define("n", Type.INT, validator=LambdaValidator(even, lambda: "even numbers"))
    assert defined.parse({"n": "4"}) == {"n": 4}
    with pytest.raises(ConfigError, match="must be even"):
        defined.parse({"n": "5"})


def test_definitions_join() -> None:
    first = ConfigDef().define("a", Type.INT, group="G")
    joined = ConfigDef(first).define("b", Type.INT, 1, group="H")
    assert (joined.names, joined.groups, first.names) == (["a", "b"], ["G", "H"], ["a"])
    assert joined.default_values() == {"b": 1}
