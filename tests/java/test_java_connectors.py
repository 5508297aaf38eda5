# SPDX-License-Identifier: Apache-2.0
"""Connectors in Java, each in a process of its own: Kafka's, Debezium's PostgreSQL source, and an odd one."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.api.config_def import ConfigValue, Importance, Type
from headrace.api.connector import Connector
from headrace.api.errors import ConnectError
from headrace.api.sink import TopicPartition
from headrace.api.source import ConnectorTransactionBoundaries, ExactlyOnceSupport
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.connector_validation import ConnectorValidator
from headrace.java.connector import (
    JavaSourceConnector,
    sink_connector_class,
    source_connector_class,
)
from headrace.java.host import TIMEOUT
from headrace.java.shared_hosts import SharedHosts
from headrace.logs.context import CONTEXT, log_context
from headrace.plugins.discovery import Plugins
from headrace.worker.stages import trace_of
from tests.java.java_connectors import (
    FILE_SINK,
    FILE_SOURCE,
    MOCK_SOURCE,
    POSTGRES,
    KeptContext,
    Plugin,
    debezium,
    kafkas,
    odd_source,
)
from tests.support.polling import wait_for
from tests.support.processes import children_of, command_of

pytestmark = pytest.mark.integration
WORKER = {
    "bootstrap.servers": "localhost:9",
    "group.id": "g",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}
PROPS = {"name": "lines", "connector.class": FILE_SOURCE, "file": "/tmp/lines", "topic": "lines"}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return odd_source(tmp_path_factory.mktemp("odd"))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Started connectors' processes end with their tests; the shared ones after some seconds without a call."""
    before = hosts()
    yield
    wait_for(lambda: not hosts() - before - shared(), 10, lambda: f"the ends of {hosts() - before}")


def hosts() -> set[psutil.Process]:
    return {each for each in children_of(os.getpid()) if "headrace.java.host_process" in command_of(each)}


def shared() -> set[psutil.Process]:
    return {psutil.Process(host.pid) for host in JavaSourceConnector.hosts.running()}


def started(connector: JavaSourceConnector, **props: str) -> KeptContext:
    context = KeptContext()
    connector.initialize(context)
    connector.start({"name": "odd", **props})
    return context


def by_name(values: list[ConfigValue]) -> dict[str, ConfigValue]:
    return {value.name: value for value in values}


def test_a_connector_that_is_not_started() -> None:
    connector = source_connector_class(kafkas(FILE_SOURCE))()
    assert connector.version() == "4.3.1"
    keys = connector.config().config_keys
    assert list(keys) == ["file", "topic", "batch.size", TIMEOUT]
    assert (keys["batch.size"].type, keys["batch.size"].default, keys["topic"].has_default) == (Type.INT, 2000, False)
    assert keys["topic"].importance is Importance.HIGH
    assert connector.task_class_name() == "org.apache.kafka.connect.file.FileStreamSourceTask"
    assert connector.exactly_once_support(PROPS) is ExactlyOnceSupport.SUPPORTED
    assert connector.exactly_once_support({"topic": "lines"}) is ExactlyOnceSupport.UNSUPPORTED
    assert connector.can_define_transaction_boundaries(PROPS) is ConnectorTransactionBoundaries.UNSUPPORTED


def test_java_validates() -> None:
    connector = source_connector_class(kafkas(FILE_SOURCE))()
    values = by_name(connector.validate({"name": "lines", "file": "/tmp/lines", "batch.size": "many", TIMEOUT: "0"}))
    assert values["topic"].error_messages == ['Missing required configuration "topic" which has no default value.']
    assert values["batch.size"].error_messages == [
        "Invalid value many for configuration batch.size: Not a number of type INT"
    ]
    assert values["file"].value == "/tmp/lines"
    assert values[TIMEOUT].error_messages == [
        f"Invalid value '0' for configuration {TIMEOUT}: Value must be at least 1"
    ]
    assert not any(value.error_messages for value in connector.validate(PROPS))


def test_a_connector_makes_task_configurations() -> None:
    connector = source_connector_class(kafkas(FILE_SOURCE))()
    connector.initialize(KeptContext())
    connector.start(PROPS)
    assert connector.task_configs(3) == [PROPS]
    assert connector.task_class_name() == "org.apache.kafka.connect.file.FileStreamSourceTask"
    connector.reconfigure({**PROPS, "topic": "others"})
    assert connector.task_configs(3) == [{**PROPS, "topic": "others"}]
    connector.stop()
    with pytest.raises(ConnectError, match="Connector lines does not run, and so cannot do taskConfigs"):
        connector.task_configs(3)


def test_java_checks_offsets() -> None:
    connector = source_connector_class(kafkas(FILE_SOURCE))()
    assert connector.alter_offsets(PROPS, [({"filename": "/tmp/lines"}, {"position": 7}), ({"filename": "x"}, None)])
    with pytest.raises(ConnectError, match="should be a non-negative value"):
        connector.alter_offsets(PROPS, [({"filename": "/tmp/lines"}, {"position": -1})])
    sink = sink_connector_class(kafkas(FILE_SINK))()
    assert sink.alter_offsets({"file": "/tmp/x"}, {TopicPartition("lines", 0): 3, TopicPartition("lines", 1): None})


def test_offsets_that_a_connector_does_not_support_to_be_altered(odd: Plugin) -> None:
    with pytest.raises(NotImplementedError, match="not altered"):
        source_connector_class(odd)().alter_offsets({}, [({"a": 1}, {"b": 2})])


def test_a_connector_reads_offsets_of_the_worker(odd: Plugin) -> None:
    connector = source_connector_class(odd)()
    started(connector)
    assert connector.task_configs(1) == [{"offset": "Long 5", "known": "Long 5", "all": "2"}]
    connector.stop()


def test_a_connector_requests_other_task_configurations(odd: Plugin) -> None:
    connector = source_connector_class(odd)()
    context = started(connector, start="reconfigure")
    wait_for(lambda: context.reconfigurations == 1, 10)
    connector.stop()


def test_a_connector_raises_an_error_later() -> None:
    connector = source_connector_class(kafkas(MOCK_SOURCE))()
    context = started(connector, mock_mode="connector-failure", delay_ms="10")
    wait_for(lambda: context.errors, 10)
    (error,) = context.errors
    assert str(error) == "java.lang.RuntimeException"
    assert "at org.apache.kafka.connect.tools.MockConnector.lambda$start$0(MockConnector.java" in trace_of(error)
    connector.stop()


def test_an_error_has_the_stack_trace_of_java(odd: Plugin) -> None:
    connector = source_connector_class(odd)()
    with pytest.raises(ConnectError) as raised:
        started(connector, start="throw")
    assert str(raised.value) == "OddSource.start: org.apache.kafka.connect.errors.ConnectException: refused"
    trace = trace_of(raised.value)
    assert "at OddSource.start(OddSource.java:" in trace
    assert "Caused by: java.lang.IllegalStateException: the cause" in trace
    assert "Traceback" not in trace
    connector.stop()


def test_a_connector_has_metrics(odd: Plugin) -> None:
    connector = source_connector_class(odd)()
    context = started(connector, start="metric")
    values = wait_for(lambda: context.registry.read(), 10)
    assert list(values.items()) == [("plugins/odd-rows?table=orders&%23=Rows", 42.0)]
    connector.stop()


def test_what_java_prints_is_logged_once(odd: Plugin, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    connector = source_connector_class(odd)()
    started(connector)
    connector.stop()
    lines = ["printed: started on stdout", "printed: started on stderr", "printed: stopped"]
    wait_for(lambda: [text for text in caplog.messages if text in lines] == lines, 10, lambda: str(caplog.messages))


def test_what_java_prints_is_logged_about_its_connector(odd: Plugin, caplog: pytest.LogCaptureFixture) -> None:
    """What several connectors share is about none of them."""
    caplog.set_level(logging.INFO)
    caplog.handler.addFilter(CONTEXT)
    cls = type("Connector", (source_connector_class(odd),), {"hosts": SharedHosts(idle_s=0.5)})
    with log_context("odd"):
        connector = cls()
        connector.validate({"validate": "print"})
        started(connector)
        connector.stop()

    def contexts() -> dict[str, str]:
        return {each.getMessage(): getattr(each, "connector_context", "") for each in caplog.records}

    wait_for(lambda: "printed: stopped" in contexts(), 10)
    assert contexts()["printed: started on stdout"] == "[odd|worker] "
    assert contexts()["printed: printed by validate"] == ""
    caplog.handler.removeFilter(CONTEXT)


def test_calls_that_need_no_start_share_a_process(tmp_path: Path) -> None:
    plugin = kafkas(FILE_SOURCE)
    hosts = SharedHosts(idle_s=0.5)
    cls = type("Connector", (source_connector_class(plugin),), {"hosts": hosts})
    threads = [threading.Thread(target=lambda: cls().validate(PROPS)) for _ in range(3)]
    for thread in threads:
        thread.start()
    seen = set[psutil.Process]()
    while any(thread.is_alive() for thread in threads):
        seen |= {psutil.Process(host.pid) for host in hosts.running()}
    assert len(seen) == 1
    wait_for(lambda: not hosts.running(), 10, "the end of the idle process")
    definition = cls().config().config_keys["file"]
    wait_for(lambda: not hosts.running(), 10, "the end of the idle process")
    assert cls().config().config_keys["file"] is definition
    assert not hosts.running(), "a process was started for a definition that is known"


def test_a_jar_that_is_replaced_is_loaded_anew(odd: Plugin, tmp_path: Path) -> None:
    jar = tmp_path / "odd.jar"
    shutil.copy(odd.jars[0], jar)
    hosts = SharedHosts(idle_s=0.5)
    cls = type("Connector", (source_connector_class(Plugin("OddSource", (jar,))),), {"hosts": hosts})
    cls().config()
    os.utime(jar, ns=(1, 1))
    shutil.copy(kafkas(FILE_SOURCE).jars[0], jar)
    with pytest.raises(ConnectError, match="OddSource"):
        cls().config()
    wait_for(lambda: not hosts.running(), 10, "the end of the idle processes")


def test_a_class_that_does_not_exist() -> None:
    connector = source_connector_class(Plugin("org.example.Missing", kafkas(FILE_SOURCE).jars))()
    with pytest.raises(ConnectError, match=r"Cannot load the Java class org\.example\.Missing"):
        connector.config()


def test_debezium() -> None:
    connector = source_connector_class(debezium())()
    assert connector.version() == "3.3.1.Final"
    keys = connector.config().config_keys
    assert len(keys) > 80
    assert keys["database.password"].type is Type.PASSWORD
    values = by_name(connector.validate({"name": "orders", "database.hostname": "localhost"}))
    assert values["topic.prefix"].error_messages
    assert values["plugin.name"].recommended_values == ["decoderbufs", "pgoutput"]


class OneConnector(Plugins):
    """The plugins of a worker, whose only connector is one in Java."""

    def __init__(self, cls: type[Connector]) -> None:
        super().__init__(module_prefixes=[])
        self._cls = cls

    def connector(self, name: str, property: str = "connector.class") -> type[Connector]:
        return self._cls


def test_a_worker_validates_a_java_connector() -> None:
    """Classes that it names are in its jars, not among the worker's modules."""
    validator = ConnectorValidator(DistributedConfig(WORKER), OneConnector(source_connector_class(debezium())))
    config = {
        "name": "orders",
        "connector.class": POSTGRES,
        "topic.prefix": "shop",
        "database.dbname": "shop",
        "plugin.name": "pgoutput",
        "topic.naming.strategy": "io.debezium.schema.DefaultTopicNamingStrategy",
    }
    infos = validator.validate(POSTGRES, config)
    assert [error for error in infos.errors if "database." not in error] == []
    shown = {info.definition.name: info for info in infos.configs if info.definition is not None}
    strategy, mode = shown["topic.naming.strategy"], shown["snapshot.mode"]
    assert strategy.definition is not None and strategy.definition.type == "CLASS"
    assert mode.value is not None and "initial" in mode.value.recommended_values
    assert TIMEOUT in shown
