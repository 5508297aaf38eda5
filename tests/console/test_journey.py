# SPDX-License-Identifier: Apache-2.0
"""A connector's life in the console: created with a preview, seen, stopped, its offsets reset, deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.rest.raw_path import encoded
from tests.console.browser import Console
from tests.support.polling import wait_for
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.timeout(300)
MARKUP = "<img src=x onerror=alert(1)>"
LINES = ("one", MARKUP, "three", "four", "five")
"""As many as a preview asks for: with fewer, it waits for more."""
PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"


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
    expect(page.get_by_test_id("mistakes")).to_contain_text("is valid")
    page.get_by_role("button", name="Preview records").click()
    expect(page.get_by_test_id("previewed")).to_have_count(len(LINES))
    expect(page.get_by_test_id("previewed").nth(1)).to_contain_text(MARKUP)
    assert worker.connectors().isdisjoint({name})
    page.get_by_role("button", name="Create", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_test_id("why")).to_contain_text("healthy")
    wait_for(lambda: values(broker, unique) == [line.encode() for line in LINES], 60, "all lines")
    page.get_by_role("link", name="Topics").click()
    page.get_by_role("button", name=unique).click()
    expect(page.get_by_role("row").filter(has_text=MARKUP)).to_have_count(1)

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Offsets").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    page.get_by_role("button", name="Reset …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".removed")).to_contain_text("position")
    expect(dialog.get_by_role("button", name="Reset")).to_be_disabled()
    dialog.get_by_role("textbox").fill(name)
    dialog.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Nothing is committed yet.")).to_be_visible()
    assert worker.rest.get(f"/connectors/{encoded(name)}/offsets").json() == {"offsets": []}
    page.get_by_role("button", name="Resume").click()
    wait_for(lambda: values(broker, unique).count(b"three") == 2, 60, "the records once more")

    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(f"{name}x")
    expect(page.get_by_role("dialog").get_by_role("button", name="Delete")).to_be_disabled()
    page.get_by_role("dialog").get_by_role("textbox").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")
    assert name not in worker.connectors()


def values(broker: EmbeddedBroker, topic: str) -> list[bytes | None]:
    return [record.value for record in read_committed(broker.bootstrap_servers, topic)]
