# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.config.connector_config import ConnectorConfig
from headrace.config.java_config import host_options, java_options, one_collector
from headrace.config.worker_config import WorkerConfig
from headrace.java.host_process import JVM_OPTIONS

CONNECTOR = {"name": "c", "connector.class": "x"}
WORKER = {"key.converter": "k", "value.converter": "v"}


def test_the_guide_states_the_memory() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "java-plugins.md").read_text(encoding="utf-8")
    (task,), (host,) = (
        [each.removeprefix("-Xmx").removesuffix("m") for each in options if each.startswith("-Xmx")]
        for options in (java_options({}, {}), JVM_OPTIONS)
    )
    assert f"The JVM has a heap of at most {task} MB" in page
    assert f"heap is {host} MB at most" in page


def test_the_heap_is_modest_by_default() -> None:
    assert java_options({}, {}) == ("-Xmx512m",)
    assert WorkerConfig(WORKER).get("java.options") == "-Xmx512m"


def test_the_connectors_options_follow_the_workers() -> None:
    worker = {"java.options": "-Xmx1g '-Dgreeting=good day'"}
    assert java_options(worker, {"connector.java.options": " -Xmx2g  -Xss1m"}) == (
        "-Xmx1g",
        "-Dgreeting=good day",
        "-Xmx2g",
        "-Xss1m",
    )


def test_connectors_have_the_workers_system_properties_and_modules() -> None:
    worker = {"java.options": "-Xmx1g '-Dgreeting=good day' --add-opens=java.base/java.lang=ALL-UNNAMED -verbose:gc"}
    assert host_options(worker) == ("-Dgreeting=good day", "--add-opens=java.base/java.lang=ALL-UNNAMED")
    assert host_options({}) == ()


def test_the_last_collector_counts() -> None:
    chosen = java_options({"java.options": "-XX:+UseSerialGC -Xmx1g"}, {"connector.java.options": "-XX:+UseG1GC"})
    assert chosen == ("-Xmx1g", "-XX:+UseG1GC")
    assert one_collector(["-XX:+UseG1GC", "-Xrs", "-XX:+UseG1GC"]) == ("-Xrs", "-XX:+UseG1GC")


@pytest.mark.parametrize("given", ["", "-Xmx2g", "-Xms64M -Xmn1g -Xss512k", "-XX:MaxDirectMemorySize=1g",
                                   "-XX:MaxRAMPercentage=12.5", "-XX:+UseZGC"])  # fmt: skip
def test_options_that_connectors_may_have(given: str) -> None:
    assert ConnectorConfig({**CONNECTOR, "connector.java.options": given}).get("connector.java.options") == given


@pytest.mark.parametrize(
    "given",
    [
        "-agentpath:/tmp/x.so",
        "-javaagent:x.jar",
        "-XX:OnOutOfMemoryError=reboot",
        "-XX:OnError=1;reboot",
        "-XX:OnError=1",
        "-XX:HeapDumpPath=/etc",
        "-XX:+HeapDumpOnOutOfMemoryError",
        "-XX:Flags=/tmp/flags",
        "-Dlog4j.configuration=http://example.org",
        "-cp /tmp",
        "@/tmp/options",
        "-Xlog:gc:file=/tmp/x",
        "-Xmx2g -Xbootclasspath/a:x.jar",
    ],
)
def test_options_that_connectors_may_not_have(given: str) -> None:
    with pytest.raises(ConfigError, match=r"others have to be in the worker's java\.options") as raised:
        ConnectorConfig({**CONNECTOR, "connector.java.options": given})
    assert raised.value.name == "connector.java.options"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("Xmx1g", "Xmx1g is no option"),
        ("-Xmx1g -cp /tmp", "-cp is no option"),
        ("-Djava.class.path=/tmp", "sets its class path"),
        ("@/tmp/options", "is no option"),
        ("-Dx='y", "a quote is not closed"),
    ],
)
def test_options_that_a_worker_may_not_have(given: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        WorkerConfig({**WORKER, "java.options": given})
    assert raised.value.name == "java.options"
