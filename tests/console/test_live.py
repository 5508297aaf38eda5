# SPDX-License-Identifier: Apache-2.0
"""Changes come to the page by themselves; where they cannot, it asks for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

EVENTS = "**/events"
PERIOD_S = 5
"""How often a page asks."""


@pytest.fixture
def name(worker: WorkerProcess, unique: str) -> Iterator[str]:
    worker.create(unique, **{"connector.class": "MockSourceConnector", "tasks.max": "1"})
    worker.wait_for_tasks(unique)
    yield unique


def shown(page: Page, name: str, state: str) -> None:
    expect(page.get_by_role("row").filter(has=page.get_by_text(name, exact=True))).to_contain_text(state)


def asked(page: Page, path: str) -> list[float]:
    """The times of requests for a path from now on."""
    times: list[float] = []

    def note(request: Request) -> None:
        if path in request.url:
            times.append(time.monotonic())

    page.on("request", note)
    return times


def change(worker: WorkerProcess, name: str, wanted: str, state: str) -> None:
    worker.rest.put(f"/connectors/{name}/{wanted}")
    worker.wait_for_tasks(name, state)


def test_a_change_is_seen_at_once(console: Console, worker: WorkerProcess, name: str) -> None:
    """The page asks for nothing meanwhile; the best of some, as the machine does other things too."""
    page = console.open("connectors")
    shown(page, name, "healthy")
    page.wait_for_timeout(1000)  # the stream is open by then, or the first claim fails
    questions = asked(page, "/connectors?")
    took = []
    for wanted, state, badge in (("pause", "PAUSED", "paused"), ("resume", "RUNNING", "healthy")) * 2:
        change(worker, name, wanted, state)
        begun = time.monotonic()
        shown(page, name, badge)
        took.append(time.monotonic() - begun)
    print("a change was seen after", [f"{each:.2f} s" for each in took])
    assert max(took) < PERIOD_S - 1 and min(took) < 2
    page.wait_for_timeout(1.5 * PERIOD_S * 1000)  # the time in which a page without a stream would have asked
    assert len(questions) <= 1, "one at most, while the stream is opened again"
    worker.delete(name)
    expect(page.get_by_text(name, exact=True)).to_have_count(0, timeout=3000)


@pytest.mark.parametrize("answer", ["cut", "held back", "no stream"])
def test_without_a_stream_the_page_asks(console: Console, worker: WorkerProcess, name: str, answer: str) -> None:
    """As behind a proxy that refuses it, keeps it until it has more of it, or answers with a page of its own."""
    page, held = console.page, []
    answers = {
        "cut": lambda route: route.abort(),
        "held back": lambda route: held.append(route),
        "no stream": lambda route: route.fulfill(status=502, content_type="text/html", body="<p>Bad gateway</p>"),
    }
    page.route(EVENTS, answers[answer])
    console.open("connectors")
    shown(page, name, "healthy")
    questions = asked(page, "/connectors?")
    for wanted, state, badge in (("pause", "PAUSED", "paused"), ("resume", "RUNNING", "healthy")):
        change(worker, name, wanted, state)
        shown(page, name, badge)
    page.wait_for_timeout(2.5 * PERIOD_S * 1000)  # the time in which it asks
    assert len(questions) >= 2
    for route in held:
        route.abort()


def test_a_stream_that_is_cut_off_is_opened_again(console: Console, worker: WorkerProcess, name: str) -> None:
    page, cut = console.page, []

    def first_one_ends(route: Route) -> None:
        if cut:
            route.fallback()
        else:
            cut.append(route)
            route.fulfill(content_type="text/event-stream", body="retry: 100\n\n")

    page.route(EVENTS, first_one_ends)
    streams = asked(page, "/events")
    console.open("connectors")
    shown(page, name, "healthy")
    page.wait_for_timeout(2000)
    change(worker, name, "pause", "PAUSED")
    begun = time.monotonic()
    shown(page, name, "paused")
    assert time.monotonic() - begun < PERIOD_S - 1
    assert len(streams) >= 2


def test_a_hidden_page_has_no_stream(console: Console, worker: WorkerProcess, name: str) -> None:
    page = console.open("connectors")
    shown(page, name, "healthy")
    ended = []
    page.on("requestfailed", lambda request: ended.append(request.url))
    page.on("requestfinished", lambda request: ended.append(request.url))
    streams = asked(page, "/events")
    hide(page, True)
    page.wait_for_timeout(1000)
    assert [url for url in ended if url.endswith("/events")]
    change(worker, name, "pause", "PAUSED")
    page.wait_for_timeout(1.5 * PERIOD_S * 1000)  # the time in which a page that is seen asks
    shown(page, name, "healthy")
    assert streams == []
    hide(page, False)
    shown(page, name, "paused")
    assert len(streams) == 1


def hide(page: Page, hidden: bool) -> None:
    """Have the page believe so: a browser without a screen shows all."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_workers_are_listed_also_idle_ones_and_those_that_do_not_answer(
    browser: Browser,
    own_worker: WorkerProcess,
    broker: EmbeddedBroker,
    unique: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """On their page and on the overview, as the API lists them."""
    own_worker.start(path="/connectors")
    other = WorkerProcess(tmp_path_factory.mktemp("other"), broker.bootstrap_servers, **{"group.id": f"group-{unique}"})
    console = Console(browser, f"http://127.0.0.1:{own_worker.port}")
    try:
        other.start(path="/connectors")
        found = wait_for(lambda: _both_with_spark(own_worker), 90, "both workers, and their Spark")
        lost, leader = f"127.0.0.1:{other.port}", found["leader"]
        for screen in ((), ("workers",)):
            page = console.open(*screen)
            rows = page.get_by_role("region", name="Workers").get_by_role("row")
            expect(rows).to_have_count(3)
            for each in found["workers"]:
                row = rows.filter(has_text=each["worker_id"])
                expect(row).to_contain_text(each["version"])
                expect(row).to_contain_text(f"0 of {each['spark']['total']}")
            expect(rows.filter(has_text="leader")).to_contain_text(leader)
        page.route("**/workers", _lagging)
        expect(rows.filter(has_text=leader)).to_contain_text("lags")
        page.unroute("**/workers")
        expect(rows.filter(has_text="lags")).to_have_count(0)
        other.kill()
        expect(rows.filter(has_text=lost)).to_contain_text("no answer")
        expect(rows.filter(has_text=lost)).to_have_count(0)
        assert console.faults == []
    finally:
        console.close()
        other.close()


def _both_with_spark(worker: WorkerProcess) -> dict[str, Any] | None:
    found: dict[str, Any] = worker.rest.get("/workers").json()
    return found if [each["spark"] is not None for each in found["workers"]] == [True, True] else None


def _lagging(route: Route) -> None:
    """The worker's answer, in which all lag."""
    answer = route.fetch()
    found = answer.json()
    lagging = [{**each, "config_lag": 7} for each in found["workers"]]
    route.fulfill(response=answer, json={**found, "workers": lagging})
