# SPDX-License-Identifier: Apache-2.0
"""The configurations that follow from MirrorMaker's file: ours and Java's, property by property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import KAFKA_VERSION
from headrace.cli.mirror.mirror_config import CLIENT_NAMES, CONNECTOR_NAMES, CONNECTORS, MirrorConfig, Pair
from headrace.cli.worker_process import resolved_properties
from headrace.java import jvm
from headrace.java.store import PluginStore
from tests.support.debian import or_skip
from tests.tiers import examples

PACKAGE = "org.apache.kafka.connect.mirror"
CLUSTERS = ("A", "a.b", "Ω 1")
QUICK = {"plugin.discovery": "service_load"}
"""Java looks for plugins when it reads a file, and by default loads every class for that."""
BASIC = {"clusters": "A,B", "A.bootstrap.servers": "a:9092", "B.bootstrap.servers": "b:9092"}
OF_OTHER_TYPES = frozenset(
    ("class", "ms", "seconds", "factor", "jitter", "relogin", "include", "urlencode", "protocol", "algorithm")
)
"""The ends of names that have no prefix and whose values Java checks when it reads the file."""
NAMES = (
    *sorted(CLIENT_NAMES - {"security.protocol"}),
    *sorted(name for name in CONNECTOR_NAMES - CLIENT_NAMES if "enabled" not in name and "provider" not in name),
    *("offset.storage.topic", "config.storage.replication.factor", "status.storage", "task.shutdown.x", "tasksabc"),
    *("key.converter", "value.converter.schemas.enable", "header.converter", "worker.sync.timeout.ms", "workers"),
    *("replication.policy", "replication.policy.x", "group.id", "client.id", "topics.exclude", "plugin.path"),
    *("exactly.once.source.support", "listeners.x", "retries", "administrator", "consumers", "x", ""),
)


@pytest.fixture(scope="module")
def mirror(java: None, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give access to the classes of MirrorMaker."""
    store = PluginStore(tmp_path_factory.mktemp("mirror"))
    or_skip(lambda: store.install(f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"))
    jpype = jvm.jpype()
    uris = [jpype.JClass("java.net.URI")(path.as_uri()) for path in store.directory.rglob("*.jar")]
    urls = jpype.JClass("java.net.URL")[:]([uri.toURL() for uri in uris])
    parent = jpype.JClass("org.apache.kafka.connect.runtime.WorkerConfig").class_.getClassLoader()
    loader = jpype.JClass("java.net.URLClassLoader")(urls, parent)
    return lambda name: jpype.JClass(f"{PACKAGE}.{name}", loader=loader)


def java_config(mirror: Any, properties: dict[str, str]) -> Any:
    return mirror("MirrorMakerConfig")(jvm.jpype().JClass("java.util.HashMap")({**QUICK, **properties}))


def in_python(map: Any) -> dict[str, str]:
    return {str(entry.getKey()): str(entry.getValue()) for entry in map.entrySet()}


def assert_same(mirror: Any, properties: dict[str, str]) -> None:
    """Compare the pairs and, for each pair of clusters, all four configurations."""
    ours, theirs = MirrorConfig(properties), java_config(mirror, properties)
    assert {str(pair) for pair in ours.all_pairs()} == {str(pair) for pair in theirs.clusterPairs()}
    assert ours.internal_rest == bool(theirs.enableInternalRest())
    for source in ours.clusters:
        for target in ours.clusters:
            pair, other = Pair(source, target), mirror("SourceAndTarget")(source, target)
            assert str(pair) == str(other)
            assert ours.worker_config(pair) == in_python(theirs.workerConfig(other))
            for name in CONNECTORS:
                config = in_python(theirs.connectorBaseConfig(other, mirror(name).class_))
                assert ours.connector_config(pair, name) == config


def test_names_that_count_without_a_prefix(mirror: Any) -> None:
    field = mirror("MirrorClientConfig").class_.getDeclaredField("CLIENT_CONFIG_DEF")
    field.setAccessible(True)
    assert {str(name) for name in field.get(None).names()} == CLIENT_NAMES
    method = mirror("MirrorMakerConfig").class_.getDeclaredMethod("allConfigNames")
    method.setAccessible(True)
    assert {str(name) for name in method.invoke(java_config(mirror, BASIC))} == CONNECTOR_NAMES


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"A->B.enabled": "true", "A->B.topics": "orders.*", "A->B.groups": "app", "B->A.enabled": "TRUE"},
        {"emit.heartbeats.enabled": "false", "A->B.enabled": "true", "dedicated.mode.enable.internal.rest": "true"},
        {"emit.heartbeats.enabled": "False", "B->A.emit.heartbeats.enabled": "true"},
        {"A->B.emit.heartbeats.enabled": "false"},
        {"clusters": " A , B,C ", "bootstrap.servers": "all:1", "C->A.enabled": "true"},
        {"security.protocol": "SASL_SSL", "B.sasl.mechanism": "PLAIN", "B.producer.sasl.mechanism": "GSSAPI",
         "sasl.jaas.config": "org.example.Login required x=\"y\";", "A.admin.ssl.truststore.location": "/a"},
        {"replication.policy.class": f"{PACKAGE}.IdentityReplicationPolicy", "replication.policy.separator": "_"},
        {"A.exactly.once.source.support": "enabled", "tasks.max": "8", "offset.storage.topic": "mine",
         "A.offset.storage.topic": "theirs", "B.group.id": "g", "key.converter": "X", "B.key.converter": "Y"},
        {"A->B.name": "other", "A->B.source.cluster.alias": "z", "source.cluster.alias": "y", "name": "n"},
    ],
)  # fmt: skip
def test_files_of_users(mirror: Any, more: dict[str, str]) -> None:
    assert_same(mirror, {**BASIC, **more})


def test_values_of_config_providers(mirror: Any, tmp_path: Path) -> None:
    """Workers have the values, connectors the references, and the flags count by their values."""
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("password=s3cret\nbeats=false\n")
    given_ = {
        **BASIC,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "B.ssl.key.password": f"${{file:{secrets}:password}}",
        "emit.heartbeats.enabled": f"${{file:{secrets}:beats}}",
        "A->B.enabled": "true",
        "A->B.topics": f"${{file:{secrets}:password}}",
    }
    theirs = java_config(mirror, given_)
    with resolved_properties(given_) as resolved:
        ours = MirrorConfig(given_, resolved)
    assert [str(pair) for pair in theirs.clusterPairs()] == [str(pair) for pair in ours.pairs()] == ["A->B"]
    pair, other = Pair("A", "B"), mirror("SourceAndTarget")("A", "B")
    with resolved_properties(ours.worker_config(pair)) as worker:
        assert worker == in_python(theirs.workerConfig(other))
        assert worker["producer.ssl.key.password"] == "s3cret"
    for name in CONNECTORS:
        assert ours.connector_config(pair, name) == in_python(theirs.connectorBaseConfig(other, mirror(name).class_))


prefixes = st.sampled_from(("", *(f"{each}." for each in CLUSTERS), "A->a.b.", "Ω 1->A.", "config.providers"))
middles = st.sampled_from(("", "producer.", "consumer.", "admin.", "source.", "target.cluster."))
names = st.builds(lambda prefix, middle, name: prefix + middle + name, prefixes, middles, st.sampled_from(NAMES))
switches = st.builds(
    lambda prefix, name: prefix + name,
    st.sampled_from(("", "A->a.b.", "a.b->A.", "a.b->Ω 1.")),
    st.sampled_from(("enabled", "emit.heartbeats.enabled")),
)


@given(
    st.dictionaries(names.filter(lambda name: name not in ("", "config.providers")), st.text("ab1,. ", max_size=5)),
    st.dictionaries(switches, st.sampled_from(("true", "false", "True", "FALSE"))),
)
@settings(max_examples=examples(200))
def test_any_file(mirror: Any, properties: dict[str, str], flags: dict[str, str]) -> None:
    checked = {name for name in CLIENT_NAMES if name.rpartition(".")[2] in OF_OTHER_TYPES}
    kept = {name: text for name, text in properties.items() if name not in checked}
    assert_same(mirror, {**kept, **flags, "clusters": ",".join(CLUSTERS)})
