# SPDX-License-Identifier: Apache-2.0
"""Two connectors' lives in the console, each step seen on the page and in Kafka.

One is created with a preview and a transformation, seen, stopped, its offsets reset, deleted; the other breaks, is
repaired, and its dead letter redriven.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.rest.raw_path import encoded
from tests.console.browser import Console
from tests.support.polling import wait_for
from tests.support.sinks import committed, lines, make_topic, send, wait_for_lines
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.timeout(300)
MARKUP = "<img src=x onerror=alert(1)>"
LINES = ("one", MARKUP, "three", "four", "five")
"""As many as a preview asks for: with fewer, it waits for more."""
RECORDS = (b'{"one": 1}', b"<b>no JSON</b>", b'{"three": 3}')
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


def test_a_file_source_from_creation_to_deletion(
    console: Console, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    name, file, page = f"{unique} <b>lines</b>", tmp_path / "lines.txt", console.page
    file.write_text("".join(f"{line}\n" for line in LINES))

    page.goto(console.url)  # as typed: the worker leads a browser to its console
    page.get_by_role("link", name="Connectors").click()
    page.get_by_role("link", name="Create").click()
    page.get_by_role("link", name="FileStreamSourceConnector").click()
    expect(page.get_by_test_id("mistakes")).to_contain_text("2 properties are wrong")
    expect(page.get_by_role("button", name="Create")).to_be_disabled()
    page.get_by_label("name required").fill(name)
    page.get_by_label("topic required").fill(unique)
    page.get_by_label(re.compile("^file$")).fill(str(file))
    add_transformations(page, unique)
    expect(page.get_by_test_id("mistakes")).to_contain_text("is valid")
    page.get_by_role("button", name="Preview records").click()
    expect(page.get_by_test_id("previewed")).to_have_count(len(LINES))
    expect(page.get_by_test_id("previewed").nth(1)).to_contain_text(MARKUP)
    expect(page.get_by_test_id("previewed").first).to_contain_text(f"{unique}-routed")
    assert worker.connectors().isdisjoint({name})
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_test_id("why")).to_contain_text("healthy")
    topic = f"{unique}-routed"
    wait_for(lambda: values(broker, topic) == [line.encode() for line in LINES], 60, "all lines")
    page.get_by_role("link", name="Topics").click()
    page.get_by_role("button", name=topic).click()
    expect(page.get_by_role("row").filter(has_text=MARKUP)).to_have_count(1)

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Offsets").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    reset_offsets(page, name, "position")
    assert worker.rest.get(f"/connectors/{encoded(name)}/offsets").json() == {"offsets": []}
    page.get_by_role("button", name="Resume").click()
    wait_for(lambda: values(broker, topic).count(b"three") == 2, 60, "the records once more")

    delete(page, name)
    assert name not in worker.connectors()


def test_a_file_sink_that_breaks_and_is_repaired(
    console: Console, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file, page = broker.bootstrap_servers, tmp_path / "out" / "lines.txt", console.page
    file.parent.mkdir()
    make_topic(bootstrap, unique)
    make_topic(bootstrap, f"{unique}-dead")
    send(bootstrap, unique, RECORDS)
    worker.create(unique, **sink(unique, file))
    console.open("connectors", unique, "dead-letters")
    wait_for(lambda: values(broker, f"{unique}-dead") == [RECORDS[1]], 60, "the dead letter")
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_role("heading", name=f"1 dead letter in {unique}-dead")).to_be_visible()
    wait_for_lines(file, 2)

    shutil.rmtree(file.parent)
    page.get_by_role("link", name="State").click()
    page.get_by_role("button", name="Restart", exact=True).click()
    expect(page.get_by_test_id("why")).to_contain_text(str(file))
    expect(page.get_by_test_id("trace")).to_contain_text(str(file))
    assert worker.task_states(unique) == ["FAILED"]
    file.parent.mkdir()
    page.get_by_role("button", name="Restart", exact=True).click()
    expect(page.get_by_test_id("why")).to_contain_text("It was restarted")
    expect(page.get_by_test_id("trace")).to_have_count(0)
    assert worker.task_states(unique) == ["RUNNING"]
    assert values(broker, f"{unique}-dead") == [RECORDS[1]]  # nothing was read once more

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Configuration").click()
    page.get_by_label("value.converter", exact=True).select_option(STRINGS)
    page.get_by_role("button", name="Save 1 change").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Offsets").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    reset_offsets(page, unique, "kafka_offset")
    assert committed(bootstrap, f"connect-{unique}", unique) == {}
    page.get_by_role("button", name="Resume").click()
    assert wait_for_lines(file, 3) == [record.decode() for record in RECORDS]

    page.get_by_role("link", name="Dead letters").last.click()
    page.get_by_role("button", name="Redrive …").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(page.get_by_text("COMPLETED")).to_be_visible()
    expect(page.get_by_text("None waits.")).to_be_visible()
    assert values(broker, unique) == [*RECORDS, RECORDS[1]]
    wait_for(lambda: lines(file)[3:] == [RECORDS[1].decode()], 60, "the record of the dead letter")
    delete(page, unique)
    assert unique not in worker.connectors()


def sink(topic: str, file: Path) -> dict[str, str]:
    """Of a sink that takes JSON, and sends what is none to a dead letter topic."""
    return {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(file),
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def add_transformations(page: Page, topic: str) -> None:
    """Add three, of which one is removed again, and change the order of the others."""
    add, steps = page.get_by_label("Add a transformation"), page.get_by_test_id("transforms").locator("li")
    add.select_option(label="ValueToKey")
    add.select_option(label="RegexRouter")
    steps.nth(1).get_by_role("textbox", name="regex").fill(topic)
    steps.nth(1).get_by_role("textbox", name="replacement").fill(f"{topic}-routed")
    add.select_option(label="HoistField$Key")
    steps.nth(2).get_by_role("textbox", name="field").fill("none")
    page.get_by_label("Move regexRouter up").click()
    expect(steps.first).to_contain_text("regexRouter")
    page.get_by_label("Remove valueToKey").click()
    page.get_by_label("Remove hoistField").click()
    expect(steps).to_have_count(1)


def reset_offsets(page: Page, name: str, shown: str) -> None:
    page.get_by_role("button", name="Reset …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".removed")).to_contain_text(shown)
    expect(dialog.get_by_role("button", name="Reset")).to_be_disabled()
    dialog.get_by_role("textbox").fill(name)
    dialog.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Nothing is committed yet.")).to_be_visible()


def delete(page: Page, name: str) -> None:
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(f"{name}x")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox").fill(name)
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")


def values(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    return [record.value for record in read_committed(broker.bootstrap_servers, topic)]
