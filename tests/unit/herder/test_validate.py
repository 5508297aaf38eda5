# SPDX-License-Identifier: Apache-2.0
"""What a validation answers: definitions, values as written, errors; and which properties are warned about."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, ConfigValue, Importance, Recommender, Type, Width
from headrace.api.connector import Task
from headrace.api.errors import ConnectError
from headrace.api.source import SourceConnector
from headrace.api.transform import Transformation
from headrace.api.validators import ValidList
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.config_infos import ConfigInfo, ConfigInfos, ConfigValueInfo
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.plugins.config_transformer import config_transformer
from headrace.plugins.discovery import Plugins

WORKER = {
    "group.id": "g",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.file.param.allowed.paths": tempfile.gettempdir(),
}


class Sizes(Recommender):
    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return [1, 2]


class Simple(SourceConnector):
    complaint: str | None = None

    def config(self) -> ConfigDef:
        return (
            ConfigDef()
            .define("place", Type.STRING, importance=Importance.HIGH, doc="Where.", group="Places", order_in_group=1)
            .define("size", Type.INT, 1, width=Width.SHORT, recommender=Sizes())
            .define("secret", Type.PASSWORD, None)
            .define("helper", Type.CLASS, None)
            .define("colours", Type.LIST, "red,green", validator=ValidList("red", "green"))
        )

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(configs)
        if self.complaint is not None:
            values[0].add_error_message(self.complaint.format(**{k.replace(".", "_"): v for k, v in configs.items()}))
        return values

    def start(self, props: Mapping[str, str]) -> None: ...

    def task_class(self) -> type[Task]:
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return []

    def stop(self) -> None: ...


class BrokenTransformation(Transformation[Any]):
    def config(self) -> ConfigDef:
        raise KeyError("oops")

    def apply(self, record: Any) -> Any:
        return record


class MorePlugins(Plugins):
    """The real ones, and these."""

    def connector(self, name: str, property: str = "connector.class") -> Any:
        return Simple if name in ("Simple", "SimpleConnector") else super().connector(name, property)

    def transformation(self, name: str, property: str = "transforms") -> Any:
        return BrokenTransformation if name == "Broken" else super().transformation(name, property)


PLUGINS = MorePlugins()
VALIDATOR = ConnectorValidator(DistributedConfig(WORKER), PLUGINS, transformer=config_transformer(WORKER, PLUGINS))
GOOD = {"name": "c", "connector.class": "Simple", "place": "here"}


def validate(**more: str | None) -> ConfigInfos:
    return VALIDATOR.validate("Simple", dotted(more))


def dotted(more: Mapping[str, str | None]) -> dict[str, str | None]:
    """Keywords cannot have dots: `a_b` is a.b."""
    return GOOD | {name.replace("_", "."): text for name, text in more.items()}


def info(infos: ConfigInfos, name: str) -> ConfigInfo:
    """Return what is reported about one property, which is reported once."""
    names = [_definition(config).name for config in infos.configs]
    assert names.count(name) == 1, names
    return infos.configs[names.index(name)]


def value(infos: ConfigInfos, name: str) -> ConfigValueInfo:
    found = info(infos, name).value
    assert found is not None
    return found


def errors(infos: ConfigInfos) -> dict[str, tuple[str, ...]]:
    values = (config.value for config in infos.configs)
    return {value.name: value.errors for value in values if value is not None and value.errors}


# ---- the answer


def test_a_sound_configuration_has_no_errors_and_all_definitions() -> None:
    infos = validate()
    assert (infos.name, infos.error_count, errors(infos)) == ("Simple", 0, {})
    assert infos.groups[0] == "Common" and infos.groups[-1] == "Places"
    place = info(infos, "place").definition
    assert place is not None
    assert (place.type, place.required, place.default_value, place.importance) == ("STRING", True, None, "HIGH")
    assert (place.documentation, place.group, place.order_in_group, place.width) == ("Where.", "Places", 1, "NONE")
    assert (place.display_name, place.dependents) == ("place", ())
    assert value(infos, "place").value == "here"
    colours = info(infos, "colours").definition
    assert colours is not None and colours.default_value == "red,green"
    assert value(infos, "colours").value == "red,green"
    assert value(infos, "size").recommended_values == ("1", "2")
    assert value(infos, "tasks.max").value == "1"


def test_all_errors_are_reported_at_their_properties() -> None:
    infos = validate(tasks_max="many", place=None, size="big", **{"errors_tolerance": "some"})
    assert errors(infos).keys() == {"tasks.max", "place", "size", "errors.tolerance"}
    assert infos.error_count == sum(map(len, errors(infos).values())) == len(infos.errors)
    assert errors(infos)["size"] == ("Invalid value 'big' for configuration size: Not a number of type INT",)
    assert value(infos, "size").value is None


def test_an_explicit_null_is_refused_defined_or_not() -> None:
    infos = validate(other=None)
    assert errors(infos) == {"other": ("Null value can not be supplied as the configuration value of other.",)}
    assert infos.configs[0] == ConfigInfo(None, value(infos, "other"))


def test_passwords_stay_hidden() -> None:
    assert value(validate(secret="hunter2"), "secret").value == "[hidden]"


# ---- classes, and what belongs to them


def test_stages_bring_their_properties_in_groups_of_their_own() -> None:
    infos = validate(
        transforms="cast", **{"transforms_cast_type": "Cast$Value", "transforms_cast_spec": "int32"},
        transforms_cast_predicate="p", predicates="p", predicates_p_type="RecordIsTombstone",
    )  # fmt: skip
    assert errors(infos) == {}
    assert {"Transforms: cast", "Predicates: p"} <= set(infos.groups)
    names = ("type", "spec", "negate", "predicate", "replace.null.with.default")
    stages = [info(infos, f"transforms.cast.{name}").definition for name in names]
    assert [stage and stage.group for stage in stages] == ["Transforms: cast"] * 5
    assert [stage and stage.order_in_group for stage in stages] == [0, 2, 3, 4, 5]
    assert stages[0] is not None
    assert (stages[0].type, stages[0].required) == ("CLASS", True)
    assert stages[0].display_name == "Transformation type for cast"
    shown = value(infos, "transforms.cast.type")
    assert shown.value == "org.apache.kafka.connect.transforms.Cast$Value"
    assert shown.value in shown.recommended_values
    assert info(infos, "predicates.p.type")


@pytest.mark.parametrize(
    ("more", "property", "expected"),
    [
        ({"transforms": "a"}, "transforms.a.type", 'Missing required configuration "transforms.a.type"'),
        ({"transforms": "a", "transforms_a_type": "Casst$Value"}, "transforms.a.type", "did you mean 'Cast$Value'?"),
        ({"transforms": "a", "transforms_a_type": "no.such.One"}, "transforms.a.type", "Class no.such.One could not"),
        ({"transforms": "a", "transforms_a_type": "Broken"}, "transforms.a.type", "is broken: KeyError: 'oops'"),
        ({"transforms": "a", "transforms_a_type": "HoistField$Value"}, "transforms.a.field", "transforms.a.field"),
        ({"transforms": "a,a", "transforms_a_type": "Filter"}, "transforms", "Duplicate alias"),
        (
            {"transforms": "a", "transforms_a_type": "Filter", "transforms_a_predicate": "q", "predicates": "p",
             "predicates_p_type": "RecordIsTombstone"},
            "transforms.a.predicate",
            "'q' for configuration transforms.a.predicate: no such predicate; predicates has p",
        ),
        (
            {"transforms": "a", "transforms_a_type": "Filter", "transforms_a_negate": "true"},
            "transforms.a.type",
            "Config 'transforms.a.negate' was provided but there is no config 'transforms.a.predicate'",
        ),
        ({"predicates": "p", "predicates_p_type": "Filter"}, "predicates.p.type", "Filter is a transformation, not a"),
        ({"value_converter": "JsonConvertor"}, "value.converter", "did you mean 'JsonConverter'?"),
        (
            {"value_converter": "JsonConverter", "value_converter_schemas_enable": "perhaps"},
            "value.converter.schemas.enable", "'perhaps' for configuration value.converter.schemas.enable: Expected",
        ),
        ({"transforms_a_negate": "x", "transforms": "a", "transforms_a_type": "Filter", "transforms_a_predicate": ""},
         "transforms.a.negate", "Expected value to be either true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plugins_properties(more: dict[str, str], property: str, expected: str) -> None:
    infos = validate(**more)
    assert errors(infos).keys() == {property}
    assert expected in errors(infos)[property][0]
    assert "\n" not in errors(infos)[property][0]


@pytest.mark.parametrize("property", ["value.converter", "header.converter", "transforms.a.type", "predicates.p.type"])
@pytest.mark.parametrize(
    ("given", "name", "reason"),
    [
        ("FileStreamSource", "org.apache.kafka.connect.file.FileStreamSourceConnector", "is a connector, not a"),
        ("json:JSONDecoder", "json.decoder.JSONDecoder", "is not a"),
    ],
)
def test_a_class_of_the_wrong_kind_is_shown(property: str, given: str, name: str, reason: str) -> None:
    """As in Java: it is there, so it is a value, and its error is reported."""
    infos = VALIDATOR.validate("Simple", GOOD | {"transforms": "a", "predicates": "p"} | {
        "transforms.a.type": "Filter", "predicates.p.type": "RecordIsTombstone", property: given
    })  # fmt: skip
    assert errors(infos).keys() == {property}
    (message,) = errors(infos)[property]
    assert f"Class {name} {reason}" in message and "\n" not in message
    assert value(infos, property).value == name


NUMBERS = {Type.INT, Type.LONG, Type.SHORT, Type.DOUBLE}
CONNECTORS = sorted(plugin.class_name for plugin in PLUGINS.describe() if plugin.type in ("source", "sink"))


@pytest.mark.parametrize("connector", CONNECTORS)
def test_one_thing_is_wrong_with_a_number_that_cannot_be_read(connector: str) -> None:
    """As in Java, which has no validators there; of ``tasks.max`` alone, which has one, both report two."""
    for key in VALIDATOR.plugin_config(connector):
        if key.type in {each.value for each in NUMBERS} and key.name != "tasks.max":
            infos = VALIDATOR.validate(connector, {"name": "c", "connector.class": connector, key.name: "many"})
            assert len(errors(infos)[key.name]) == 1, (key.name, errors(infos)[key.name])


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({}, {"topics", "topics.regex"}),
        ({"topics": "a", "topics.regex": "b"}, {"topics", "topics.regex"}),
        ({"topics": "a,a"}, {"topics"}),
        ({"topics": "a,"}, {"topics"}),
        ({"topics": "a,b", "errors.deadletterqueue.topic.name": "b"}, {"topics"}),
        ({"topics.regex": "a.*", "errors.deadletterqueue.topic.name": "ab"}, {"topics.regex"}),
        ({"topics.regex": "["}, {"topics.regex"}),
    ],
)
def test_which_topics_a_sink_reads(more: dict[str, str], wrong: set[str]) -> None:
    """Under the properties of which Java reports it, so that forms show it beside them."""
    infos = VALIDATOR.validate("FileStreamSink", {"name": "c", "connector.class": "FileStreamSink", **more})
    assert errors(infos).keys() == wrong
    assert infos.error_count == len(wrong)


@pytest.mark.parametrize("name", [" Simple", "Simple ", "\tSimple"])
def test_spaces_around_the_connectors_class(name: str) -> None:
    with pytest.raises(BadRequestError, match=r"connector\.class"):
        VALIDATOR.validate("Simple", GOOD | {"connector.class": name})
    with pytest.raises(BadRequestError, match=r"connector\.class"):
        VALIDATOR.check("c", GOOD | {"connector.class": name})


def test_converters_bring_their_properties() -> None:
    infos = validate(value_converter="JsonConverter", value_converter_schemas_enable="false")
    shown = value(infos, "value.converter")
    assert shown.value == "org.apache.kafka.connect.json.JsonConverter"
    assert value(infos, "value.converter.schemas.enable").value == "false"
    assert value(infos, "value.converter.converter.type").value == "value"
    keys = [key.name for key in map(_definition, infos.configs) if key.name.startswith("key.converter.")]
    assert keys == ["key.converter.plugin.version"]


def _definition(config: ConfigInfo) -> Any:
    return config.definition or config.value


# ---- client overrides


def test_overrides_are_judged_by_the_policy_and_by_the_client() -> None:
    command = "sasl.kerberos.kinit.cmd"
    more = {command: "k", "acks": "some", "linger.ms": "long", "batch.size": "5"}
    infos = VALIDATOR.validate("Simple", GOOD | {f"producer.override.{name}": text for name, text in more.items()})
    wrong = errors(infos)
    assert wrong.keys() == {f"producer.override.{name}" for name in (command, "acks", "linger.ms")}
    assert "'some' for configuration producer.override.acks" in wrong["producer.override.acks"][0]
    assert wrong[f"producer.override.{command}"][0].startswith(f"producer.override.{command}: '{command}' names a")
    assert value(infos, "producer.override.batch.size") == ConfigValueInfo(
        "producer.override.batch.size", "5", (), (), True
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("producer.override.linger.ms", ("LONG", False, "5", "MEDIUM", "linger.ms")),
        ("producer.override.bootstrap.servers", ("LIST", True, None, "HIGH", "bootstrap.servers")),
        ("admin.override.bootstrap.servers", ("LIST", False, "", "HIGH", "bootstrap.servers")),
        ("consumer.override.ssl.key.password", ("PASSWORD", False, None, "HIGH", "ssl.key.password")),
        ("consumer.override.key.deserializer", ("CLASS", True, None, "HIGH", "key.deserializer")),
        ("consumer.override.linger.ms", None),
        ("producer.override.statistics.interval.ms", None),
    ],
)
def test_overrides_of_what_clients_have_are_defined(name: str, shown: tuple[Any, ...] | None) -> None:
    for more in ({}, {f"{name}.more": "1"}):
        config = info(VALIDATOR.validate("Simple", GOOD | {name: "7", **more}), name)
        assert config.value is not None and config.value.name == name
        if shown is None:
            assert config.definition is None
            continue
        key = config.definition
        assert key is not None and key.documentation
        assert (key.type, key.required, key.default_value, key.importance, key.display_name) == shown
        assert (key.group, key.order_in_group, key.width) == (None, -1, "NONE")


def test_what_is_not_overridden_is_not_defined() -> None:
    assert not [config for config in validate().configs if ".override." in str(config.definition)]


def test_a_sinks_topics_have_names_that_kafka_accepts() -> None:
    config = {"name": "c", "connector.class": "VerifiableSink", "topics": "good,not good, ..,good.too"}
    wrong = errors(VALIDATOR.validate("VerifiableSink", config))
    assert wrong.keys() == {"topics"}
    assert [text.partition(" for ")[0] for text in wrong["topics"]] == [
        "Invalid value 'not good'",
        "Invalid value '..'",
    ]


def test_a_mask_is_no_value_where_answers_have_one() -> None:
    names = ("secret", "spark.option.password", "db.api.key", "connection.url", "producer.override.ssl.key.password")
    infos = VALIDATOR.validate("Simple", GOOD | {name: " [hidden]" for name in (*names, "place", "replacement")})
    wrong = errors(infos)
    assert wrong.keys() == set(names)
    for name in names:
        assert wrong[name][0].startswith(f"Invalid value '[hidden]' for configuration {name}: this stands for a secret")


def test_a_passwords_reference_is_shown_as_it_was_written() -> None:
    """Also one to a provider that this worker does not have."""
    names = ("secret", "spark.option.password")
    for text in ("${no:such:key}", "${no:a:b}${no:c:d}"):
        infos = VALIDATOR.validate("Simple", GOOD | dict.fromkeys(names, text))
        assert {value(infos, name).value for name in names} == {text}
    infos = VALIDATOR.validate("Simple", GOOD | dict.fromkeys(names, "x${no:such:key}"))
    assert {value(infos, name).value for name in names} == {"[hidden]"}


def test_an_overrides_secret_is_not_shown() -> None:
    name = "consumer.override.sasl.jaas.config"
    infos = VALIDATOR.validate("Simple", GOOD | {name: "Login required password='hunter2';"})
    assert errors(infos).keys() == {name}
    assert "hunter2" not in str(infos)


# ---- references to config providers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.properties"
    file.write_text("size=a-secret-size\nplace=topsecretplace\ncolours=purple,yellow\n")
    return file


def test_values_behind_references_are_checked_and_not_shown(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simple, "complaint", "{place} is no place")
    written = {name: f"${{file:{file}:{name}}}" for name in ("size", "place", "colours")}
    infos = VALIDATOR.validate("Simple", GOOD | written)
    assert [value(infos, name).value for name in written] == list(written.values())
    assert f"Invalid value '{written['size']}' for configuration size" in errors(infos)["size"][0]
    assert errors(infos)["place"] == (f"{written['place']} is no place",)
    assert errors(infos).keys() == {"size", "place", "colours"}
    assert not any(text in str(infos) for text in ("a-secret-size", "topsecretplace", "purple", "yellow"))


def test_a_refusal_shows_no_value_either(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Simple, configs: Mapping[str, str]) -> list[ConfigValue]:
        raise ConnectError(f"cannot reach {configs['place']}")

    monkeypatch.setattr(Simple, "validate", refuse)
    with pytest.raises(BadRequestError) as caught:
        VALIDATOR.check("c", GOOD | {"place": f"${{file:{file}:place}}"})
    assert "topsecretplace" not in str(caught.value) and f"${{file:{file}:place}}" in str(caught.value)


def test_what_is_stored_keeps_the_references(file: Path) -> None:
    config = GOOD | {"place": f"${{file:{file}:place}}"}
    assert VALIDATOR.check("c", config).config == config


# ---- the class that the request is about


@pytest.mark.parametrize("requested", ["Simple", "SimpleConnector"])
@pytest.mark.parametrize("included", ["Simple", "SimpleConnector"])
def test_any_name_of_the_class_will_do(requested: str, included: str) -> None:
    assert VALIDATOR.validate(requested, GOOD | {"connector.class": included}).error_count == 0


def test_java_names_and_short_names_are_one_class() -> None:
    config = {"connector.class": "FileStreamSource", "name": "c", "topic": "t"}
    full = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    for requested in (full, "FileStreamSource"):
        assert VALIDATOR.validate(requested, config).error_count == 0
    assert VALIDATOR.validate("FileStreamSource", {**config, "connector.class": full}).error_count == 0


@pytest.mark.parametrize(
    ("requested", "included", "expected"),
    [
        ("VerifiableSource", "FileStreamSource", "FileStreamSource does not match request type VerifiableSource"),
        ("Nothing", "Nothing", "no such connector"),
        ("FileStreamSource", None, "connector.class"),
        ("FileStreamSource", " ", "connector.class"),
    ],
)
def test_another_class_or_none_is_a_bad_request(requested: str, included: str | None, expected: str) -> None:
    with pytest.raises(BadRequestError, match=expected):
        VALIDATOR.validate(requested, {"connector.class": included, "name": "c", "topic": "t"})


# ---- unknown properties


def warnings(caplog: pytest.LogCaptureFixture, **more: str) -> list[str]:
    with caplog.at_level(logging.WARNING, "headrace.herder"):
        VALIDATOR.check("c", dotted(more))
    return [record.getMessage() for record in caplog.records if record.name.startswith("headrace.herder")]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"sizee": "1"}, "Connector c: sizee: no such property; did you mean 'size'?"),
        ({"task_max": "1"}, "task.max: no such property; did you mean 'tasks.max'?"),
        ({"zzzzzz": "1"}, "zzzzzz: nothing defines this property"),
        ({"transforms_b_type": "Filter"}, "transforms.b.type: transforms does not list 'b'"),
        (
            {"transforms": "a", "transforms_a_type": "HoistField$Value", "transforms_a_field": "f",
             "transforms_a_fild": "f"},
            "transforms.a.fild: no such property; did you mean 'transforms.a.field'?",
        ),
        (
            {"value_converter": "JsonConverter", "value_converter_schema_enable": "false"},
            "did you mean 'value.converter.schemas.enable'?",
        ),
        ({"value_converter_schemas_enable": "false"}, "it belongs to a value.converter, and this connector has the"),
        (
            {"connector_plugin_version": "[9,10)"},
            "connector.class: version [9,10) is asked for, but undefined is what is installed and used",
        ),
        ({"topic_creation_grp_partitions": "1"}, "topic.creation.grp.partitions: "),
    ],
)  # fmt: skip
def test_unknown_properties_are_allowed_and_warned_about(
    more: dict[str, str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    if "topic_creation_grp_partitions" in more:
        more |= {"topic_creation_default_partitions": "1", "topic_creation_default_replication_factor": "1"}
    (line,) = warnings(caplog, **more)
    assert expected in line
    # The answers to users have it too.
    answered = (VALIDATOR.check("c", dotted(more)).warnings, VALIDATOR.validate("", dotted(more)).warnings)
    for text in answered:
        assert text is not None and [f"Connector c: {each}" for each in text] == [line]


def test_properties_of_clients_topics_and_plugins_are_not_unknown(caplog: pytest.LogCaptureFixture) -> None:
    more = {
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.min.insync.replicas": "1",
        "producer.override.linger.ms": "1",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "true",
        "size": "1",
        "headrace.labels": "shop",
        **{"transforms": "a", "transforms.a.type": "HoistField$Value", "transforms.a.field": "f"},
        "transforms.a.table.rates.url": "a reference table's option",
    }
    assert warnings(caplog, **more) == []
    assert VALIDATOR.check("c", dotted(more)).warnings == () and VALIDATOR.validate("", dotted(more)).warnings is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"topic.creation.default.include": "t"}, ".default.include: the default group has every topic that no other"),
        ({"topic.creation.groups": "g"}, "topic.creation.g.include: it has no pattern, so the group has no topic"),
    ],
)
def test_topic_groups_without_effect_are_warned_about(
    more: dict[str, str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    (line,) = warnings(caplog, **TOPICS, **more)
    assert expected in line


def test_topic_creation_that_the_worker_does_not_do_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """And nothing is wrong with it, as in Java."""
    without = ConnectorValidator(DistributedConfig({**WORKER, "topic.creation.enable": "false"}), PLUGINS)
    with caplog.at_level(logging.WARNING, "headrace.herder"):
        without.check("c", {**GOOD, "topic.creation.default.partitions": "many"})
    [line] = [record.getMessage() for record in caplog.records]
    assert "topic.creation.*: without effect, as this worker has topic.creation.enable=false" in line
    assert "Topic Creation: default" not in without.validate("Simple", {**GOOD, **TOPICS}).groups


def test_only_what_is_created_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace.herder"):
        validate(sizee="1")
    assert [record for record in caplog.records if record.name.startswith("headrace.herder")] == []


# ---- topics to be made


TOPICS = {"topic.creation.default.partitions": "7", "topic.creation.default.replication.factor": "-1"}


def test_topic_groups_have_definitions_with_the_default_groups_numbers() -> None:
    infos = validate(**TOPICS, **{"topic.creation.groups": "g", "topic.creation.g.include": "a,b.*"})
    assert errors(infos) == {}
    assert {"Topic Creation", "Topic Creation: g", "Topic Creation: default"} <= set(infos.groups)
    shown = {
        _definition(config).name: (_definition(config).default_value, config.value and config.value.value)
        for config in infos.configs
        if _definition(config).name.startswith("topic.creation.")
    }
    assert shown == {
        "topic.creation.groups": ("", "g"),
        "topic.creation.g.include": ("", "a,b.*"),
        "topic.creation.g.exclude": ("", ""),
        "topic.creation.g.replication.factor": ("-1", "-1"),
        "topic.creation.g.partitions": ("7", "7"),
        "topic.creation.default.replication.factor": (None, "-1"),
        "topic.creation.default.partitions": (None, "7"),
    }
    assert not any(name.startswith("Topic Creation:") for name in validate().groups)


def test_all_that_is_wrong_with_topic_groups_is_reported() -> None:
    more = {"topic.creation.groups": "g", "topic.creation.g.include": "(", "topic.creation.g.partitions": "0"}
    found = errors(validate(**more, **{"topic.creation.default.partitions": "x"}))
    assert found.keys() == {
        "topic.creation.g.include",
        "topic.creation.g.partitions",
        "topic.creation.default.partitions",
        "topic.creation.default.replication.factor",
    }
    assert "Missing required configuration" in found["topic.creation.default.replication.factor"][0]


# ---- a plugin's own properties


def test_a_connectors_properties_come_before_the_runtimes() -> None:
    names = [key.name for key in VALIDATOR.plugin_config("Simple")]
    assert names[:6] == ["place", "size", "secret", "helper", "colours", "name"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["Cast$Value", "org.apache.kafka.connect.transforms.Cast$Value"])
def test_a_transformations_properties(name: str) -> None:
    assert {key.name for key in VALIDATOR.plugin_config(name)} == {"spec", "replace.null.with.default"}


def test_a_plugin_that_is_none() -> None:
    with pytest.raises(NotFoundError, match=r"Unknown plugin Nothing\."):
        VALIDATOR.plugin_config("Nothing")
    with pytest.raises(BadRequestError, match="Valid types are sink, source, converter"):
        VALIDATOR.plugin_config("FileConfigProvider")


def test_a_property_that_names_a_class_imports_from_where_plugins_may_come_only() -> None:
    limited = MorePlugins(module_prefixes=())
    validator = ConnectorValidator(DistributedConfig(WORKER), limited)
    sys.modules.pop("this", None)
    infos = validator.validate("Simple", dotted({"helper": "this.Zen"}))
    value = info(infos, "helper").value
    assert value is not None and "imports no classes from module this" in value.errors[0]
    assert "this" not in sys.modules
    good = validator.validate(
        "Simple", dotted({"helper": "headrace.connectors.file_stream.file_stream_source.FileStreamSourceTask"})
    )
    assert good.error_count == 0
