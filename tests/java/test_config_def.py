# SPDX-License-Identifier: Apache-2.0
"""Java's definitions of properties, and what Java finds of a configuration."""

from __future__ import annotations

import pickle
from typing import Any

import jpype
import pytest

from headrace.api.config_def import ConfigDef, ConfigValue, Importance, Password, Type, Width
from headrace.api.errors import ConfigError
from headrace.java.config_def import python_config_def, python_config_values
from headrace.java.jvm import java_class

CONFIG = "org.apache.kafka.common.config"


@pytest.fixture(scope="module")
def java_def() -> Any:
    """A definition of many kinds of properties."""
    kind, importance = java_class(f"{CONFIG}.ConfigDef$Type"), java_class(f"{CONFIG}.ConfigDef$Importance")
    width, none = java_class(f"{CONFIG}.ConfigDef$Width"), java_class(f"{CONFIG}.ConfigDef").NO_DEFAULT_VALUE
    one_of = java_class(f"{CONFIG}.ConfigDef$ValidString").in_("a", "b")
    any_case = java_class(f"{CONFIG}.ConfigDef$CaseInsensitiveValidString").in_("low", "HIGH")
    at_least = java_class(f"{CONFIG}.ConfigDef$Range").atLeast(jpype.JObject(1, jpype.JClass("java.lang.Integer")))
    dependents = java_class("java.util.ArrayList")(["size"])

    def ensure_odd(name: Any, value: Any) -> None:
        if value is not None and int(value) % 2 == 0:
            raise java_class(f"{CONFIG}.ConfigException")(name, value, "must be odd")

    odd = java_class(f"{CONFIG}.ConfigDef$LambdaValidator").with_(ensure_odd, lambda: "odd numbers")
    definition = java_class(f"{CONFIG}.ConfigDef")()
    definition.define("mode", kind.STRING, "a", one_of, importance.HIGH, "The mode.", "Main", 1, width.SHORT, "Mode",
                      dependents)  # fmt: skip
    definition.define("size", kind.INT, jpype.JObject(5, jpype.JClass("java.lang.Integer")), at_least,
                      importance.LOW, "How many.")  # fmt: skip
    definition.define("level", kind.STRING, "High", any_case, importance.LOW, "How much.")
    definition.define("odd", kind.LONG, "7", odd, importance.LOW, "An odd one.")
    definition.define("secret", kind.PASSWORD, none, importance.MEDIUM, "A secret.")
    definition.define("list", kind.LIST, "x,y", importance.MEDIUM, "Some.")
    definition.define("class", kind.CLASS, "java.lang.String", importance.MEDIUM, "A class.")
    definition.define("ratio", kind.DOUBLE, None, importance.MEDIUM, "A share.")
    return definition


def test_all_that_a_property_has(java_def: Any) -> None:
    found = python_config_def(java_def)
    assert set(found.names) == {"mode", "size", "level", "odd", "secret", "list", "class", "ratio"}
    mode = found.config_keys["mode"]
    assert (mode.type, mode.default, mode.importance, mode.doc) == (Type.STRING, "a", Importance.HIGH, "The mode.")
    assert (mode.group, mode.order_in_group, mode.width, mode.display_name) == ("Main", 1, Width.SHORT, "Mode")
    assert mode.dependents == ("size",)
    defaults = {name: found.config_keys[name].default for name in ("size", "odd", "list", "class", "ratio")}
    assert defaults == {"size": 5, "odd": 7, "list": ["x", "y"], "class": "java.lang.String", "ratio": None}
    assert not found.config_keys["secret"].has_default


def test_kafkas_validators_work_without_java(java_def: Any) -> None:
    found: ConfigDef = pickle.loads(pickle.dumps(python_config_def(java_def, class_type=Type.STRING)))
    values = {"secret": "s", "mode": "c", "size": "0", "odd": "8", "level": "middling"}
    messages = {value.name: value.error_messages for value in found.validate(values)}
    assert messages["mode"] == ["Invalid value 'c' for configuration mode: String must be one of: a, b"]
    assert messages["size"] == ["Invalid value '0' for configuration size: Value must be at least 1"]
    assert messages["level"] == [
        "Invalid value 'middling' for configuration level: String must be one of (case insensitive): HIGH, LOW"
    ]
    assert messages["odd"] == []  # only Java can check it
    assert str(found.config_keys["odd"].validator) == "odd numbers"
    parsed = found.parse({"secret": "s"})
    assert (parsed["class"], parsed["secret"].value, parsed["level"]) == ("java.lang.String", "s", "High")
    with pytest.raises(ConfigError, match="secret"):
        found.parse({})


def test_what_java_finds(java_def: Any) -> None:
    props = java_class("java.util.HashMap")({"mode": "c", "odd": "8", "secret": "s"})
    found = {value.name: value for value in python_config_values(java_def.validate(props))}
    assert found["mode"].error_messages == ["Invalid value c for configuration mode: String must be one of: a, b"]
    assert found["odd"].error_messages == ["Invalid value 8 for configuration odd: must be odd"]
    assert found["secret"] == ConfigValue("secret", Password("s"))
    assert found["class"].value == "java.lang.String"


def test_every_definition_of_kafkas_own_transformations() -> None:
    """All of them are loaded, which covers the remaining validators."""
    transforms = "org.apache.kafka.connect.transforms"
    for name in ("Cast$Value", "MaskField$Value", "TimestampConverter$Value", "HeaderFrom$Key", "ReplaceField$Value"):
        definition = java_class(f"{transforms}.{name}")().config()
        assert python_config_def(definition).names == [str(each) for each in definition.configKeys().keySet()]
