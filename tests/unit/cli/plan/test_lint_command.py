# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app

Write = Callable[[str, str], None]

CONNECTORS = """\
orders:
  connector.class: FileStreamSource
  topic: t
  tasks.maxx: 2
  batch.size: many
  database.password: hunter2hunter2
  transforms: a, b
  transforms.a.type: Cast$Value
  transforms.a.spec: int8
  transforms.c.type: Cast$Value
  transforms.a.predicate: none
  predicates: p
  predicates.p.type: RecordIsTombstone
  transaction.boundary.interval.ms: 5
  producer.override.sasl.jaas.config: ${env:JAAS}
sink:
  connector.class: FileStreamSink
  topics.regex: a(
  value.converter: Nix
  file: f
  tasks.max: $(TASKS)
"""

TEXT = """\
error  d/a.yaml:4: connector orders, tasks.maxx: no such property; did you mean 'tasks.max'?
error  d/a.yaml:5: connector orders, batch.size: Invalid value 'many' for configuration batch.size: \
Not a number of type INT
warning  d/a.yaml:6: connector orders, database.password: nothing defines this property
warning  d/a.yaml:6: connector orders, database.password: a secret in clear; use a config provider, \
such as ${env:NAME}, or a variable, $(NAME)
error  d/a.yaml:7: connector orders, transforms.b.type: Missing required configuration "transforms.b.type" which \
has no default value.
warning  d/a.yaml:10: connector orders, transforms.c.type: transforms does not list 'c'
error  d/a.yaml:11: connector orders, transforms.a.predicate: Invalid value 'none' for configuration \
transforms.a.predicate: no such predicate; predicates has p
warning  d/a.yaml:12: connector orders, predicates: no transformation uses the predicate 'p'
warning  d/a.yaml:14: connector orders, transaction.boundary.interval.ms: without effect, \
as transaction.boundary is not interval
error  d/a.yaml:18: connector sink, topics.regex: Invalid value 'a(' for configuration topics.regex: not a regular \
expression: missing ), unterminated subpattern at position 1
"""


def lint(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["lint", *args], env={"HEADRACE_URL": "http://127.0.0.1:1"})
    return result.exit_code, result.stdout, result.stderr


def test_all_findings_with_their_lines(write: Write) -> None:
    write("d/a.yaml", CONNECTORS)
    write("d/b.properties", "# a copy\nname=sink\nconnector.class=FileStreamSink\n\ntopics=a b\n")
    code, out, err = lint("d")
    assert (code, err) == (1, "")
    assert out.startswith(TEXT), out
    assert (
        "error  d/a.yaml:19: connector sink, value.converter: Invalid value 'Nix' for configuration value.conv" in out
    )
    assert "warning  d/a.yaml:21: connector sink, tasks.max: not checked, since the environment variable TASKS" in out
    assert "error  d/b.properties:2: connector sink: connector sink is in d/a.yaml:16 already\n" in out
    assert "error  d/b.properties:5: connector sink, topics: Invalid value 'a b' for configuration topics: " in out
    assert out.endswith("\n3 connectors, 8 errors, 6 warnings\n")
    assert "hunter2" not in out


def test_findings_for_programs(write: Write) -> None:
    write("a.json", '{"name": "a", "config":\n {"connector.class": "FileStreamSource",\n  "topic": 1, "tasks.max": 0}}')
    code, out, _ = lint("a.json", "-o", "json")
    found = json.loads(out)
    assert (code, found["connectors"]) == (1, 1)
    assert [(each["level"], each["line"], each["property"]) for each in found["findings"]] == [
        ("error", 3, "tasks.max")
    ]
    assert lint("a.json", "-o", "name")[1] == "a.json\n"


def test_warnings_alone_are_no_errors(write: Write) -> None:
    write("a.yaml", "a: {connector.class: FileStreamSource, topic: t, x: y}\n")
    code, out, _ = lint("a.yaml")
    assert (code, out.splitlines()[-1]) == (0, "1 connector, 0 errors, 1 warning")


def test_what_cannot_be_read(write: Write) -> None:
    write("a.yaml", "a: [\n")
    code, out, _ = lint("a.yaml", "missing.json")
    assert code == 1
    assert "error  a.yaml:2: it is not YAML: " in out
    assert "error  missing.json: No such file or directory\n" in out


WORKER = "group.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\nstatus.storage.topic=s\n"


def test_a_workers_defaults(write: Write) -> None:
    write(
        "a.yaml",
        "a: {connector.class: FileStreamSource, topic: t, file: f, exactly.once.support: required,\n"
        "    transaction.boundary: poll}\n"
        "b: {connector.class: FileStreamSink, topics: t, consumer.override.group.id: g,\n"
        "    key.converter: StringConverter}\n",
    )
    assert lint("a.yaml")[:2] == (0, "2 connectors, 0 errors, 0 warnings\n")
    write("worker.properties", f"{WORKER}value.converter=StringConverter\n")
    code, out, _ = lint("a.yaml", "--worker", "worker.properties")
    assert code == 1
    for said in (
        "connector a, key.converter: neither the connector nor the worker names a key.converter",
        "connector a, exactly.once.support: This worker does not have exactly-once source support enabled.",
        "connector a, transaction.boundary: without effect, as the worker's sources are not exactly-once",
        "connector b, consumer.override.group.id: Consumer group g of this sink connector conflicts",
    ):
        assert said in out, out
    assert "connector b, key.converter" not in out


@pytest.mark.parametrize("text", ["group.id=g\n", WORKER + "value.converter=Nix\nlisteners=nowhere\n"])
def test_a_worker_that_is_none(text: str, write: Write) -> None:
    write("worker.properties", text)
    write("a.yaml", "a: {connector.class: FileStreamSource, topic: t}\n")
    code, out, err = lint("a.yaml", "--worker", "worker.properties")
    assert (code, out) == (2, "")
    assert err.startswith("Error: worker.properties: ") and err.count("\n") == 1


def test_a_secret_is_in_no_finding(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2hunter2")
    write(
        "a.yaml",
        "a: {connector.class: FileStreamSource, topic: t, tasks.max: $(DB_PASSWORD), x.password: hunter3hunter3,\n"
        "    errors.tolerance: hunter3hunter3}\n"
        "b: {connector.class: Nix, x.password: hunter3hunter3, y: hunter4hunter4}\n",
    )
    code, out, _ = lint("a.yaml")
    assert (code, "hunter" in out) == (1, False)


def test_commands_are_checked_for_the_worker_of_a_file(write: Write) -> None:
    write("tap.yaml", "shop:\n  connector.class: SingerSource\n  singer.command: tap-x\n")
    assert "singer.command" not in lint("tap.yaml")[1]
    write("worker.properties", f"{WORKER}value.converter=StringConverter\nkey.converter=StringConverter\n")
    code, out, _ = lint("tap.yaml", "--worker", "worker.properties")
    assert code == 1
    assert "tap.yaml:3: connector shop, singer.command: Invalid value 'tap-x'" in out
    assert "singer.commands.allowed" in out
    write("worker.properties", f"{WORKER}singer.commands.allowed=tap-*\n")
    assert "singer.command" not in lint("tap.yaml", "--worker", "worker.properties")[1]
