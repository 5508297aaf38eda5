# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.plugins.builtin import BUILT_IN, PluginKind
from headrace.plugins.discovery import Plugins
from headrace.plugins.java_plugins import JAVA_PLUGINS, WellKnownPlugin, java_plugin_hint
from tests.java.known_connectors import KNOWN, Known

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "coming-from-java.md"


@pytest.mark.parametrize(
    ("name", "is_what", "instead"),
    [
        ("io.debezium.connector.postgresql.PostgresConnector", "Debezium's source of a database's", "SparkTableSource"),
        ("PostgresConnector", "Debezium's source of a database's changes", "SparkTableSource"),
        ("io.debezium.connector.jdbc.JdbcSinkConnector", "Debezium's sink for databases", "spark.format=jdbc"),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", "the JDBC source of Confluent", "spark.format=jdbc"),
        ("io.aiven.connect.jdbc.JdbcSinkConnector", "the JDBC sink of Confluent and of Aiven", "SparkSink"),
        ("io.confluent.connect.s3.S3SinkConnector", "the sink for Amazon S3", "s3a://"),
        ("io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "Elasticsearch", "SparkSink"),
        ("org.apache.kafka.connect.mirror.MirrorSourceConnector", "part of MirrorMaker 2", "headrace has none that"),
        ("io.confluent.kafka.connect.datagen.DatagenConnector", "generator of sample records", "VerifiableSource"),
        ("io.aiven.kafka.connect.http.HttpSinkConnector", "a connector for HTTP", "connector of your own"),
        ("com.mongodb.kafka.connect.MongoSinkConnector", "MongoDB's sink", "mongodb"),
    ],
)
def test_a_java_connector_is_answered_with_what_to_use_instead(name: str, is_what: str, instead: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Plugins().connector(name)
    text = str(refused.value)
    assert text.startswith(f"Invalid value '{name}' for configuration connector.class: no such connector")
    assert is_what in text and instead in text.partition("Instead, in Python: ")[2]
    assert "did you mean" not in text and "\n" not in text


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("PostgresConnector", "io.debezium:debezium-connector-postgres:3.3.1.Final"),
        ("io.debezium.connector.mysql.MySqlConnector", "io.debezium:debezium-connector-mysql:3.3.1.Final"),
        (
            "org.apache.iceberg.connect.IcebergSinkConnector",
            "org.apache.iceberg:iceberg-kafka-connect:1.12.0 --with org.apache.iceberg:iceberg-parquet:1.12.0 "
            "--with org.apache.hadoop:hadoop-client-runtime:3.4.2",
        ),
        ("org.apache.kafka.connect.mirror.MirrorSourceConnector", "org.apache.kafka:connect-mirror:4.3.1"),
        ("io.debezium.connector.mariadb.MariaDbConnector", "ARCHIVE"),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", "ARCHIVE"),
        (
            "java:io.debezium.connector.postgresql.PostgresConnector",
            "io.debezium:debezium-connector-postgres:3.3.1.Final",
        ),
        ("java:org.apache.kafka.connect.file.FileStreamSourceConnector", "org.apache.kafka:connect-file:4.3.1"),
        ("java:org.apache.kafka.connect.tools.MockSinkConnector", "org.apache.kafka:connect-test-plugins:4.3.1"),
    ],
)
def test_the_command_that_installs_it(name: str, command: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        Plugins([str(tmp_path)]).connector(name)
    assert f"headrace plugins install {command} --into {tmp_path}" in str(refused.value)
    assert f"headrace plugins install {command}" in (java_plugin_hint(PluginKind.CONNECTOR, name) or "")


def test_java_converters_and_transformations() -> None:
    with pytest.raises(ConfigError, match=r"Confluent's Schema Registry, a Java converter.* JsonConverter"):
        Plugins().converter("io.confluent.connect.avro.AvroConverter", "value.converter")
    with pytest.raises(ConfigError, match="a transformation of Debezium's, a Java transformation"):
        Plugins().transformation("io.debezium.transforms.ExtractNewRecordState", "transforms.a.type")


def test_the_command_that_installs_a_transformation() -> None:
    for name, coordinate in {
        "io.debezium.transforms.ExtractNewRecordState": "io.debezium:debezium-core:3.3.1.Final",
        "java:io.debezium.transforms.ExtractNewRecordState": "io.debezium:debezium-core:3.3.1.Final",
        "java:org.apache.kafka.connect.transforms.Cast$Value": "org.apache.kafka:connect-transforms:4.3.1",
    }.items():
        with pytest.raises(ConfigError, match=f"headrace plugins install {re.escape(coordinate)}"):
            Plugins().transformation(name, "transforms.a.type")
    with pytest.raises(ConfigError, match=r"headrace plugins install org\.apache\.kafka:connect-json:4\.3\.1"):
        Plugins().converter("java:org.apache.kafka.connect.json.JsonConverter", "value.converter")


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.class_name)
def test_the_command_installs_what_the_tests_install(known: Known) -> None:
    hint = java_plugin_hint(PluginKind.CONNECTOR, f"java:{known.class_name}") or ""
    assert f"headrace plugins install {known.coordinate}" in hint


def test_other_classes_have_no_such_hint() -> None:
    for name in ("org.example.PostgresConnector", "FileStreamSourceConector", "Postgres"):
        assert java_plugin_hint(PluginKind.CONNECTOR, name) is None


def test_the_hints_name_plugins_and_pages_that_exist() -> None:
    known = {name for plugin in BUILT_IN for name in plugin.names()}
    for plugin in JAVA_PLUGINS:
        for name in re.findall(r"\b[A-Z]\w+(?:Source|Sink|Converter|Router)\b", plugin.instead):
            assert name in known, name
        for page in re.findall(r"docs/\S+\.md", plugin.instead):
            assert (Path(__file__).parents[3] / page).is_file(), page


def test_no_java_plugin_has_the_name_of_a_plugin_of_headrace() -> None:
    for plugin in BUILT_IN:
        for name in plugin.names():
            assert java_plugin_hint(plugin.kind, name) is None, name


def test_the_guide_lists_them_all() -> None:
    """Its table is made of the hints; GOLDEN=write writes it."""
    page = GUIDE.read_text(encoding="utf-8")
    begin, end = "<!-- java plugins -->\n", "<!-- end of java plugins -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    header = "\n| of Java | it is | Maven Central | in Python |\n|---|---|---|---|\n"
    expected = f"{before}{begin}{header}{''.join(map(_row, JAVA_PLUGINS))}\n{end}{after}"
    if os.environ.get("GOLDEN") == "write":
        GUIDE.write_text(expected, encoding="utf-8")
    assert expected == GUIDE.read_text(encoding="utf-8")


def _row(plugin: WellKnownPlugin) -> str:
    def linked(found: re.Match[str]) -> str:
        return f"([guide]({found[1]}))"

    names = ", ".join(f"`{name}`" for name in plugin.classes)
    package = plugin.package.rstrip(".")
    of = f" (`{package}`)" if package not in ("", "io", "com") else ""
    instead = re.sub(r"\(docs/guide/(\S+\.md)\)", linked, plugin.instead)
    coordinates = dict.fromkeys(f"`{plugin.coordinates[name]}`" for name in sorted(plugin.coordinates))
    return f"| {names}{of} | {plugin.is_what} | {', '.join(coordinates)} | {instead} |\n"
