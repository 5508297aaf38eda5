# SPDX-License-Identifier: Apache-2.0
"""The steps of a connector on its page: live counts, and errors on the step that had them."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.console.test_live import hide
from tests.support.exactly_once import create_numbered
from tests.support.polling import wait_for
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

COUNT = 600
MARKUP = "<img src=x onerror=alert(1)>"
"""An alias, as any text may be one."""
STEPS = {
    "transforms": f"{MARKUP},refuse",
    f"transforms.{MARKUP}.type": "Filter",
    f"transforms.{MARKUP}.predicate": "some",
    "predicates": "some",
    "predicates.some.type": "failing_transforms.Multiple",
    "predicates.some.of": "10",
    "transforms.refuse.type": "failing_transforms.Refuse",
    "transforms.refuse.every": "7",
    "errors.tolerance": "all",
}
KEPT = [n for n in range(COUNT) if n % 10]
WRITTEN = [n for n in KEPT if n % 7]


def test_each_step_has_its_counts_and_errors(
    console: Console, worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    create_numbered(worker, unique, COUNT, **STEPS, **{"batch": "20", "pause.ms": "500"})
    worker.wait_for_tasks(unique)
    page = console.open("connectors", unique)
    source, keep, refuse, converter, topic = (
        page.get_by_role("list", name="Pipeline").get_by_role("listitem").nth(place) for place in range(5)
    )
    expect(source).to_contain_text(re.compile(r"[1-9][\d.]* records/s"))  # while it runs
    expect(topic).to_contain_text(re.compile(r"[1-9][\d.]* records/s"))
    expect(source).to_contain_text(f"{COUNT} records")
    assert values(broker.bootstrap_servers, unique) == [b"%d" % n for n in WRITTEN]
    shows(keep, MARKUP, f"{COUNT} in, {len(KEPT)} out", f"{COUNT - len(KEPT)} filtered")
    shows(refuse, f"{len(KEPT)} in, {len(WRITTEN)} out", f"{len(KEPT) - len(WRITTEN)} errors")
    shows(converter, f"{len(WRITTEN)} records")
    shows(topic, f"{len(WRITTEN)} records")
    expect(refuse.locator(".stage")).to_have_class(re.compile("degraded"))
    for each in (source, keep, converter, topic):
        expect(each).not_to_contain_text(re.compile(r"\d errors?"))
    assert counts(worker, unique) == [
        (None, COUNT, None, 0),
        (COUNT, len(KEPT), COUNT - len(KEPT), 0),
        (len(KEPT), len(WRITTEN), 0, len(KEPT) - len(WRITTEN)),
        (len(WRITTEN), len(WRITTEN), None, 0),
        (len(WRITTEN), None, None, 0),
    ]
    expect(source).to_contain_text(re.compile(r"(?<![\d.,])0 records/s"))
    worker.delete(unique)


def shows(step: Locator, *texts: str) -> None:
    for text in texts:
        expect(step).to_contain_text(text)


def counts(worker: WorkerProcess, name: str) -> list[tuple[Any, ...]]:
    (task,) = worker.rest.get(f"/connectors/{name}/health").json()["tasks"]
    fields = ("records_in", "records_out", "filtered", "errors")
    return [tuple(step[field] for field in fields) for step in task["steps"]]


def test_the_page_asks_for_counts_only_while_it_is_seen(console: Console, worker: WorkerProcess, unique: str) -> None:
    create_numbered(worker, unique, 1)
    worker.wait_for_tasks(unique)
    page, asked = console.page, list[str]()
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/health") else None)
    console.open("connectors", unique)
    wait_for(lambda: (page.wait_for_timeout(200), len(asked) >= 2)[1], 30, lambda: f"two requests: {asked}")
    hide(page, True)
    asked.clear()
    page.wait_for_timeout(6000)  # the time in which a page that is seen would have asked
    assert asked == []
    hide(page, False)
    wait_for(lambda: (page.wait_for_timeout(200), len(asked) >= 1)[1], 30, "a request of the page that is seen again")
    page.get_by_role("link", name="Topics").click()
    page.wait_for_timeout(500)
    asked.clear()
    page.wait_for_timeout(6000)
    assert asked == []
    worker.delete(unique)
