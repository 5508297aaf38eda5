# SPDX-License-Identifier: Apache-2.0
"""Records of a topic in the console: from a place or a time on, of one partition, filtered, and downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.support.sinks import create_sink, make_topic, send
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.timeout(300)
EIGHT = 1_780_300_800_000
"""2026-06-01 08:00 UTC in milliseconds."""
MINUTE = 60_000


@pytest.fixture
def page(console: Console, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> Page:
    """With the records of a topic: one for each minute, alternately of two partitions."""
    make_topic(broker.bootstrap_servers, unique, 2, **{"retention.ms": "-1"})
    for minute in range(10):
        value = f"<i>minute {minute}</i>".encode()
        headers = [("colour", b"red" if minute == 3 else b"blue")]
        send(broker.bootstrap_servers, unique, [value], minute % 2, timestamp=EIGHT + minute * MINUTE, headers=headers)
    create_sink(worker, unique, unique, tmp_path / "out")
    page = console.open("connectors", unique, "topics")
    page.get_by_role("button", name=unique, exact=True).click()
    expect(shown(page)).to_have_count(10)
    return page


def shown(page: Page) -> Locator:
    return page.get_by_role("row").filter(has_text="minute")


def read(page: Page) -> None:
    page.get_by_role("button", name="Read", exact=True).click()


def test_records_of_a_time_and_of_an_offset(page: Page) -> None:
    page.get_by_label("From").select_option("time (UTC)")
    page.get_by_label("Time (UTC)").fill("2026-06-01T08:07:00")
    read(page)
    expect(shown(page)).to_have_count(3)
    expect(shown(page).first).to_contain_text("2026-06-01 08:0")
    page.get_by_label("Time (UTC)").fill("2026-06-01T08:07:01")
    read(page)
    expect(shown(page)).to_have_count(2)
    page.get_by_label("Time (UTC)").fill("2026-06-02T00:00")
    read(page)
    expect(page.get_by_text("There is none from there on.")).to_be_visible()
    page.get_by_label("From").select_option("offset")
    page.get_by_label("Offset").fill("3")
    page.get_by_label("Partition").select_option("1")
    read(page)
    expect(shown(page)).to_have_count(2)
    expect(shown(page).first).to_contain_text("minute 7")


def test_values_are_decoded_by_other_converters(page: Page) -> None:
    page.get_by_label("Decoded by").select_option("JSON")
    read(page)
    expect(page.get_by_role("row").filter(has_text="serialization error")).to_have_count(10)
    page.get_by_label("Decoded by").select_option("text")
    read(page)
    expect(shown(page)).to_have_count(10)


def test_what_the_filter_leaves_is_downloaded(page: Page, unique: str, tmp_path: Path) -> None:
    page.get_by_label("Filter records").fill("MINUTE 4")
    expect(shown(page)).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="1 of 10")).to_be_visible()
    page.get_by_label("Filter records").fill("none of them")
    expect(page.get_by_text("None of those that were read has this text.")).to_be_visible()
    expect(page.get_by_role("button", name="Download")).to_be_disabled()
    page.get_by_label("Filter records").fill("blue")
    expect(shown(page)).to_have_count(9)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download").click()
    downloading.value.save_as(tmp_path / "records")
    assert downloading.value.suggested_filename == f"{unique}.jsonl"
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert sorted(record["timestamp"] for record in records) == [
        EIGHT + minute * MINUTE for minute in range(10) if minute != 3
    ]
    assert {record["value"]["value"] for record in records} >= {"<i>minute 0</i>", "<i>minute 9</i>"}
