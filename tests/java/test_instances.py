# SPDX-License-Identifier: Apache-2.0
"""Instances of plugins' classes, also of those that JPype refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.java.classes import python_class
from headrace.java.converters import converter_class
from headrace.java.errors import java_errors
from headrace.java.instances import held_instance
from headrace.java.jvm import find_class, java_class, jpype
from headrace.java.plugin import JavaKind, JavaPlugin
from headrace.java.source_task import source_task_class
from headrace.java.transformations import transformation_class
from tests.java.bad_plugins import bad_plugins
from tests.java.circular_causes import CALLS
from tests.java.java_connectors import KeptContext
from tests.java.task_contexts import SourceContext

CONNECT = "org.apache.kafka.connect"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    plugins = bad_plugins(tmp_path_factory.mktemp("bad-jars"))
    return (plugins / "bad" / "bad.jar",)


@pytest.mark.parametrize("name", ["LacksType", "LacksTypeTask", "LacksTypeConverter", "LacksTypeTransformation"])
def test_jpype_refuses_a_class_whose_methods_name_a_missing_one(jars: tuple[Path, ...], name: str) -> None:
    """If it does not any more, nothing needs to be held."""
    found = find_class(jars, f"BadSource${name}")
    for _ in range(2):
        with pytest.raises(java_class("java.lang.NoClassDefFoundError")):
            jpype().JClass(found)


def test_a_task_of_such_a_class_runs(jars: tuple[Path, ...]) -> None:
    task = source_task_class(jars, "BadSource$LacksTypeTask")()
    task.initialize(SourceContext())
    assert task.version() == "bad"
    task.start({"topic": "t"})
    (record,) = task.poll() or ()
    assert (record.topic, record.value) == ("t", "number 1")
    task.commit()
    task.commit_record(record, None)
    task.stop()


def test_a_converter_and_a_transformation_of_such_a_class_run(jars: tuple[Path, ...]) -> None:
    converter = converter_class(jars, "BadSource$LacksTypeConverter")()
    converter.configure({}, is_key=False)
    assert converter.from_connect_data("t", None, "text") == b"text"
    assert converter.from_connect_data_with_headers("t", SourceRecord({}, {}, "t").headers, None, "text") == b"text"
    assert converter.to_connect_data("t", b"text").value == "text"
    transformation = transformation_class(jars, "BadSource$LacksTypeTransformation")()
    transformation.configure({})
    record = SourceRecord({}, {}, "t", value="text")
    changed = transformation.apply(record)
    assert changed is not None
    assert changed.value == "text"
    transformation.close()


def test_a_connector_of_such_a_class_runs(jars: tuple[Path, ...]) -> None:
    plugin = JavaPlugin(JavaKind.SOURCE, "BadSource$LacksType", "1", jars, jars[0])
    connector = python_class(plugin)()
    assert connector.version() == "bad"
    assert "java.connector.timeout.ms" in connector.config().config_keys
    connector.initialize(KeptContext())
    connector.start({"name": "c", "topic": "t"})
    try:
        assert connector.task_class_name() == "BadSource$LacksTypeTask"
        assert connector.task_configs(3) == [{"name": "c", "topic": "t"}]
    finally:
        connector.stop()


def test_a_class_of_kafkas() -> None:
    built_in = held_instance((), f"{CONNECT}.storage.StringConverter")
    assert str(built_in.toConnectData("t", jpype().JArray(jpype().JByte)(b"x")).value()) == "x"


def test_a_held_instance_has_the_methods_of_kafka_connect(jars: tuple[Path, ...]) -> None:
    held = held_instance(jars, "BadSource$LacksTypeTask")
    assert held.is_a(f"{CONNECT}.source.SourceTask")
    assert not held.is_a(f"{CONNECT}.sink.SinkTask")
    assert hasattr(held, "poll")
    assert not hasattr(held, "lacks")


def test_exceptions_whose_causes_are_a_circle(jars: tuple[Path, ...]) -> None:
    """JPype would follow one without limit, in a call that cannot be ended, so that another process makes them."""
    command = [sys.executable, "-m", "tests.java.circular_causes", str(jars[0])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [f"{name}: {CONNECT}.errors.ConnectException: first" for name in CALLS], done


def test_what_a_constructor_throws(jars: tuple[Path, ...]) -> None:
    with pytest.raises(ConnectError, match=r"Cannot create an instance of BadSource\$ThrowingTask: .*no licence"):
        held_instance(jars, "BadSource$ThrowingTask")
    with pytest.raises(ConnectError, match="NoClassDefFoundError: Missing"):
        held_instance(jars, "BadSource$NeedsMissing")


def test_an_exception_is_raised_once_it_is_a_result(jars: tuple[Path, ...]) -> None:
    held = held_instance(jars, "BadSource$BadTask")
    with pytest.raises(ConnectError, match="NullPointerException"), java_errors():
        held.start(None)
