# SPDX-License-Identifier: Apache-2.0
"""The life of a source of a table in the console, whose database goes down and comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.console.test_journey import delete, reset_offsets
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import Postgres, found_postgres
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def database() -> Iterator[Postgres]:
    """One of its own: it is killed."""
    with Postgres(or_skip(found_postgres)) as running:
        yield running


@pytest.fixture
def page(browser: Browser, jdbc_worker: WorkerProcess) -> Iterator[Page]:
    console = Console(browser, f"http://127.0.0.1:{jdbc_worker.port}")
    try:
        yield console.page
        assert console.faults == []
    finally:
        console.close()


def test_a_source_whose_database_goes_down(
    page: Page, jdbc_worker: WorkerProcess, broker: EmbeddedBroker, database: Postgres, unique: str
) -> None:
    def ids() -> list[int]:
        return [json.loads(each.value or b"")["id"] for each in read_committed(broker.bootstrap_servers, unique)]

    def await_rows(*expected: int) -> None:
        wait_for(lambda: ids() == list(expected), 90, lambda: f"rows {expected} in {ids()}")

    table, why = f"rows_{unique.replace('-', '_')}", page.get_by_test_id("why")
    database.sql(f"CREATE TABLE {table} (id bigint PRIMARY KEY); INSERT INTO {table} VALUES (1), (2), (3)")
    jdbc_worker.create(unique, **source(table, unique), **database.options())
    page.goto(f"http://127.0.0.1:{jdbc_worker.port}/console#/connectors/{unique}")
    expect(why).to_contain_text("healthy")
    await_rows(1, 2, 3)

    database.kill()
    try:
        expect(why).to_contain_text("refused")
        expect(why).to_contain_text(f"is the database up, and reachable at 127.0.0.1:{database.port}")
        assert jdbc_worker.task_states(unique) == ["RUNNING"]  # it retries by itself
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_text("Needs attention").locator("..").locator("..")).to_contain_text(unique)
    finally:
        database.start()
    database.sql(f"INSERT INTO {table} VALUES (4)")
    page.get_by_role("link", name="Connectors", exact=True).click()
    page.get_by_role("table", name="Connectors").get_by_role("link", name=unique).click()  # not the overview's
    expect(why).to_contain_text("healthy")
    await_rows(1, 2, 3, 4)

    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Offsets").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    reset_offsets(page, unique, "incrementing")
    assert jdbc_worker.rest.get(f"/connectors/{unique}/offsets").json() == {"offsets": []}
    page.get_by_role("button", name="Resume").click()
    await_rows(1, 2, 3, 4, 1, 2, 3, 4)

    delete(page, unique)
    assert unique not in jdbc_worker.connectors()


def source(table: str, topic: str) -> dict[str, str]:
    """Of a source that looks for new rows five times a second."""
    return {
        "connector.class": "SparkTableSource",
        "spark.format": "jdbc",
        "table": table,
        "topic": topic,
        "mode": "incrementing",
        "incrementing.column": "id",
        "poll.interval.ms": "200",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }
