# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, Importance, Password, Recommender, Type, parse_type, value_to_string
from headrace.api.errors import ConfigError
from headrace.api.validators import (
    CaseInsensitiveValidString,
    CompositeValidator,
    LambdaValidator,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Range,
    TopicName,
    Validator,
    ValidList,
    ValidString,
)
from tests.vectors.reader import load

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
        "listSize": lambda: ListSize.at_most(described["max"]),
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


# ---- beyond the vectors; outcomes seen in Java 4.3.1


def only(kind: Type, validator: Validator | None = None, **more: Any) -> ConfigDef:
    return ConfigDef().define("a", kind, validator=validator, **more)


def errors(defined: ConfigDef, *given: Any) -> list[str]:
    (value,) = defined.validate(dict(zip("a", given, strict=False)))
    return [unquoted(message) for message in value.error_messages]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Type.INT, "-0", 0),
        (Type.INT, "\uff15", 5),
        (Type.INT, "\x00 5\x1f", 5),
        (Type.DOUBLE, "1e400", math.inf),
        (Type.DOUBLE, "1e-400", 0.0),
        (Type.DOUBLE, "0x1.8p1", 3.0),
        (Type.DOUBLE, "-0x1p9999", -math.inf),
        (Type.DOUBLE, ".5", 0.5),
        (Type.DOUBLE, "5.", 5.0),
        (Type.DOUBLE, "1D", 1.0),
        (Type.DOUBLE, "-Infinity", -math.inf),
        (Type.BOOLEAN, " false", False),
        (Type.LIST, " a , b ,c ", ["a", "b", "c"]),
        (Type.LIST, " , ", ["", ""]),
        (Type.LIST, "a,\u00a0b", ["a", "\u00a0b"]),
        (Type.LIST, " ", []),
        (Type.STRING, " \u00a0x\u2003 ", "\u00a0x\u2003"),
        (Type.PASSWORD, "\tx\x00", Password("x")),
    ],
)
def test_text_is_read_as_java_reads_it(kind: Type, text: str, value: Any) -> None:
    assert parse_type("a", text, kind) == value


NO_INTEGERS = ("", "  ", "+", "5 5", "\u00a05", "1_0", "9" * 5000)
NO_DOUBLES = ("", ".", "1e", "nan", "inf", "1_0", "0x10", "\u0663")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        *[(Type.INT, text, "Not a number of type INT") for text in NO_INTEGERS],
        *[(Type.DOUBLE, text, "Not a number of type DOUBLE") for text in NO_DOUBLES],
        (Type.INT, 5.0, "Expected value to be a 32-bit integer, but it was a float"),
        (Type.LONG, True, "Expected value to be a 64-bit integer (long), but it was a bool"),
        (Type.SHORT, 40000, "Not a number of type SHORT"),
        (Type.DOUBLE, True, "Expected value to be a double, but it was a bool"),
        (Type.CLASS, 5, "Expected a Class instance or class name."),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused_as_it_is_written(kind: Type, value: Any, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_type("a", value, kind)
    shown = str(value).lower() if isinstance(value, bool) else value
    assert str(raised.value) == f"Invalid value '{shown}' for configuration a: {reason}"


def test_a_value_that_cannot_be_read_is_checked_as_none_too() -> None:
    bad, null = (
        "Invalid value  x  for configuration a: ",
        "Invalid value null for configuration a: Value must be non-null",
    )
    assert errors(only(Type.INT, Range.between(1, 10)), " x ") == [f"{bad}Not a number of type INT", null]
    missing = 'Missing required configuration "a" which has no default value.'
    assert errors(only(Type.INT, Range.between(1, 10))) == [missing, null]
    assert errors(only(Type.STRING, NonEmptyString())) == [missing]
    # Of a validator that thinks of no None, in Java a NullPointerException.
    careless = LambdaValidator(lambda name, value: len(value) and None, lambda: "a text")
    assert errors(only(Type.STRING, careless), None) == [null]


def test_parse_drops_duplicates_and_validate_reports_them() -> None:
    expected = "Configuration 'a' values must not be duplicated."
    assert only(Type.LIST, ValidList()).parse({"a": "x,y,x"}) == {"a": ["x", "y"]}
    assert errors(only(Type.LIST, ValidList()), "x,y,x") == [expected]
    with pytest.raises(ConfigError, match="duplicated"):
        only(Type.LIST, ValidList(), default=["x", "x"])
    with pytest.raises(ConfigError, match="duplicated"):
        only(Type.LIST, CompositeValidator(ValidList(), ListSize(1))).parse({"a": "x,x"})


@pytest.mark.parametrize(
    ("validator", "value", "expected"),
    [
        (ValidList("a", "b", allow_empty=False), [], "'a' must not be empty. Valid values include: [a, b]"),
        (ValidList(allow_empty=False), [], "'a' must not be empty. Valid values include: any non-empty value"),
        (ListSize.at_most(2), list("abc"), "[a, b, c] for configuration a: exceeds maximum list size of [2]."),
        (Range.between(0.5, 1e10), 2e10, "2.0E10 for configuration a: Value must be no more than 1.0E10"),
        (NonEmptyStringWithoutControlChars(), "a\x85", "but had the following ASCII chars: 133"),
    ],
)
def test_validators_answer_as_in_java(validator: Validator, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validator.ensure_valid("a", value)
    assert unquoted(str(raised.value)).endswith(expected)


@pytest.mark.parametrize(
    ("validator", "text"),
    [
        (Range.between(1, 10), "[1,...,10]"),
        (Range.at_least(1.5), "[1.5,...]"),
        (Range(maximum=3), "[...,3]"),
        (Range(), "[...]"),
        (ValidString("a", None), "[a, null]"),
        (CaseInsensitiveValidString("b", "a"), "(case insensitive) [B, A]"),
        (ListSize(3), "List containing maximum of 3 elements"),
        (CompositeValidator(NonNull(), ListSize(1)), "non-null string, List containing maximum of 1 elements"),
    ],
)
def test_validators_describe_themselves(validator: Validator, text: str) -> None:
    assert str(validator) == text


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "x" * 249, "...", None])
def test_names_that_kafka_accepts(name: str | None) -> None:
    TopicName().ensure_valid("topic", name)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "x" * 250, "a\n"])
def test_names_that_kafka_does_not_accept(name: str) -> None:
    with pytest.raises(ConfigError):
        TopicName().ensure_valid("topic", name)


class Seen(Recommender):
    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return [name, *sorted(parsed)]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return parsed["y"] == 5


def test_an_embedded_definition_works_under_its_prefix() -> None:
    low, high = Importance.LOW, Importance.HIGH
    child = (
        ConfigDef()
        .define("z", Type.STRING, "d", validator=ValidString("d"), importance=low, group="G", dependents=["y"])
        .define("y", Type.INT, importance=high)
        .define("x", Type.INT, 1, importance=low, group="G", recommender=Seen())
        .define("w", Type.STRING, "", importance=high)
        .define("v", Type.STRING, importance=high)
    )
    embedded = ConfigDef().define("o.z", Type.INT, 1).embed("p.", "Grp", 7, child)
    places = [(key.name, key.group, key.order_in_group) for key in embedded.config_keys.values()][1:]
    assert places == [
        ("p.v", "Grp", 7),
        ("p.y", "Grp", 8),
        ("p.w", "Grp", 9),
        ("p.x", "Grp: G", 10),
        ("p.z", "Grp: G", 11),
    ]
    assert embedded.groups == ["Grp", "Grp: G"]
    assert embedded.config_keys["p.z"].dependents == ("p.y",)
    values = {value.name: value for value in embedded.validate({"p.z": "q", "p.y": "5", "p.v": "k"})}
    # Java reports this about "z" alone.
    assert values["p.z"].error_messages == ["Invalid value 'q' for configuration p.z: String must be one of: d"]
    assert values["p.x"].recommended_values == ["x", "v", "w", "x", "y", "z"]
    assert values["p.x"].visible


def test_an_undefined_dependent_is_reported() -> None:
    defined = ConfigDef().define("a", Type.STRING, dependents=["b", "c"])
    values = {value.name: value for value in defined.validate({"a": "1"})}
    assert (values["b"].error_messages, values["b"].visible) == (
        ["b is referred in the dependents, but not defined."],
        False,
    )
    with pytest.raises(ConfigError, match="not defined: b,c"):
        defined.parse({"a": "1"})


def test_a_recommender_may_refuse() -> None:
    class Refusing(Seen):
        def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
            raise ConfigError.invalid(name, parsed["a"], "nothing fits")

    assert errors(only(Type.STRING, recommender=Refusing()), "1") == [
        "Invalid value 1 for configuration a: nothing fits"
    ]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, Type.BOOLEAN, "true"),
        (1e10, Type.DOUBLE, "1.0E10"),
        (["a", "", "b"], Type.LIST, "a,,b"),
        (None, Type.INT, None),
        (5, None, "5"),
        (False, None, "false"),
        (Password("x"), Type.PASSWORD, "[hidden]"),
        (Password, Type.CLASS, "headrace.api.config_types.Password"),
    ],
)
def test_values_as_text(value: Any, kind: Type | None, text: str | None) -> None:
    assert value_to_string(value, kind) == text
