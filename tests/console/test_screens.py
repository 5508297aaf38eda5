# SPDX-License-Identifier: Apache-2.0
"""All screens: for everybody, on small and large windows, light and dark; and what is not to reach the browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.rest.raw_path import encoded
from scripts.npm_packages import AXE, unpacked
from tests.console.browser import Console
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.sinks import make_topic, send
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

MARKUP = "<img src=x onerror=alert(1)>"
BROKEN = f"broken {MARKUP}"
SECRET = "swordfish-canary"
TABS = ("", "config", "offsets", "topics", "dead-letters", "logs", "changes")
SCREENS = (
    *((), ("connectors",), ("dead-letters",), ("workers",), ("plugins",), ("audit",), ("loggers",)),
    *(("create",), ("create", "VerifiableSource")),
)
DRAWN = """plot => {
  const canvas = plot.querySelector("canvas");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  plot.style.color = "var(--accent)";
  const line = getComputedStyle(plot).color.match(/\\d+/g).map(Number);
  const columns = new Set();
  const isLine = at => data[at + 3] > 200 && line.every((part, index) => Math.abs(part - data[at + index]) < 8);
  for (let at = 0; at < data.length; at += 4) if (isLine(at)) columns.add((at / 4) % width);
  return columns.size;
}"""
"""The columns of a plot's canvas with a part of its line."""
SIZES = {"phone": (360, 740), "desk": (1440, 900), "wall": (2560, 1440)}


@pytest.fixture(scope="module")
def busy(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with a source that fails with markup in its error, a sink with dead letters, and a secret."""
    directory = tmp_path_factory.mktemp("console")
    with WorkerProcess(directory, broker.bootstrap_servers, **{"group.id": "console-screens"}) as worker:
        worker.await_answer(path="/connectors")
        for topic in ("console-in", "console-dead"):
            make_topic(broker.bootstrap_servers, topic)
        records = [b'{"ok": 1}', MARKUP.encode(), f'{{"text": "{MARKUP}"}}'.encode()]
        send(broker.bootstrap_servers, "console-in", records)
        cast = {"transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "int8"}
        worker.create(BROKEN, **{"connector.class": "OrdersSource", "topic": "console-orders", **cast})
        worker.create(
            "letters",
            **{
                "connector.class": "FileStreamSink",
                "topics": "console-in",
                "file": str(directory / "out.txt"),
                "value.converter": "JsonConverter",
                "value.converter.schemas.enable": "false",
                "errors.tolerance": "all",
                "errors.deadletterqueue.topic.name": "console-dead",
                "errors.deadletterqueue.topic.replication.factor": "1",
                "errors.deadletterqueue.context.headers.enable": "true",
                "consumer.override.sasl.jaas.config": f'PlainLoginModule required username="u" password="{SECRET}";',
            },
        )
        worker.wait_for_tasks(BROKEN, "FAILED")
        dead = lambda: len(read_committed(broker.bootstrap_servers, "console-dead")) == 1  # noqa: E731
        wait_for(dead, 60, "a dead letter")
        yield worker


@pytest.fixture
def screens(browser: Browser, busy: WorkerProcess, request: pytest.FixtureRequest) -> Iterator[Console]:
    """The console; a parameter is of the size and the theme."""
    size, theme = getattr(request, "param", ("desk", "light"))
    width, height = SIZES[size]
    opened = Console(
        browser, f"http://127.0.0.1:{busy.port}", color_scheme=theme, viewport={"width": width, "height": height}
    )
    try:
        yield opened
        assert opened.faults == []
    finally:
        opened.close()


@pytest.mark.parametrize(
    "screens", [("desk", "light"), ("desk", "dark"), ("phone", "dark"), ("wall", "light")], indirect=True, ids=str
)
def test_every_screen_can_be_used_by_everybody(screens: Console) -> None:
    or_skip(lambda: unpacked(AXE))
    of_connectors = [("connectors", encoded(name), tab) for name in ("letters", BROKEN) for tab in TABS]
    found = {}
    screens.poll()
    for segments in (*SCREENS, *of_connectors):
        page = screens.open(*segments)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle") if segments[-1:] != ("logs",) else page.wait_for_timeout(1000)
        if faults := screens.serious_faults() + screens.beyond_the_window():
            found["/".join(segments)] = faults
    screens.page.goto(f"{screens.url}/docs")
    expect(screens.page.get_by_role("heading", level=1)).to_be_visible()
    if faults := screens.serious_faults():
        found["docs"] = faults
    assert found == {}, json.dumps(found, indent=1)


def test_markup_is_text_and_secrets_stay_with_the_worker(screens: Console, busy: WorkerProcess) -> None:
    """Of connectors' names, errors, records, dead letters and log lines; nothing of them is run."""
    assert SECRET in busy.rest.get("/connectors/letters/config").text
    for name, tab, text in (
        (BROKEN, "", "TRANSFORMATION c"),
        (BROKEN, "logs", "task failed"),
        ("letters", "config", "[hidden]"),
        ("letters", "dead-letters", "VALUE_CONVERTER"),
    ):
        page = screens.open("connectors", encoded(name), tab)
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        if tab == "config":
            page.get_by_role("button", name="As JSON").click()
            expect(page.get_by_role("textbox", name="Configuration as JSON")).to_have_value(re.compile(re.escape(text)))
        else:
            expect(page.get_by_text(text).first).to_be_visible()
    page = screens.open("connectors", "letters", "topics")
    page.get_by_role("button", name="console-in").click()
    page.get_by_label("From").select_option("begin")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.get_by_role("row").filter(has_text=MARKUP)).to_have_count(1)
    assert page.locator("img").count() == 0
    assert screens.bodies and not [body for body in screens.bodies if SECRET in body]


def test_a_change_keeps_the_secrets(screens: Console, busy: WorkerProcess) -> None:
    page = screens.open("connectors", "letters", "config")
    page.get_by_role("textbox", name="tasks.max").fill("2")
    page.get_by_role("button", name="Save 1 change").click()
    expect(page.get_by_role("dialog").locator(".added")).to_contain_text("2")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("letters is reconfigured")).to_be_visible()
    page.get_by_role("link", name="Changes").click()
    expect(page.get_by_role("row").filter(has_text="PATCH /connectors/letters/config")).to_contain_text("tasks.max")
    config = busy.rest.get("/connectors/letters/config").json()
    assert config["tasks.max"] == "2" and SECRET in config["consumer.override.sasl.jaas.config"]


def test_a_field_stays_where_it_is_while_it_is_typed(screens: Console) -> None:
    """Of a group that is folded at first, with a mistake on the way."""
    page = screens.open("create", "VerifiableSource")
    page.get_by_text("Error Handling").click()
    field = page.get_by_label("errors.retry.timeout")
    field.press_sequentially("x")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Backspace")
    page.keyboard.type("250")
    expect(page.get_by_test_id("mistakes")).to_contain_text("2 properties")
    expect(field).to_be_focused()
    expect(field).to_have_value("250")


def test_a_refusal_is_shown_in_the_apis_words(screens: Console, busy: WorkerProcess) -> None:
    page = screens.open("connectors", quote("letters"), "offsets")
    page.get_by_role("button", name="Reset …").click()
    answer = busy.rest.delete("/connectors/letters/offsets?dryRun=true").json()["message"]
    expect(page.get_by_role("alert")).to_have_text(answer)


def test_dead_letters_are_redriven(screens: Console, broker: EmbeddedBroker) -> None:
    """The record of the letter is in its topic once more."""
    page = screens.open("connectors", "letters", "dead-letters")
    expect(page.get_by_role("heading", name="1 dead letter in console-dead")).to_be_visible()
    page.get_by_role("button", name="Discard …").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Discard")).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Redrive …").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(page.get_by_text("COMPLETED")).to_be_visible()
    written = [each.value for each in read_committed(broker.bootstrap_servers, "console-in")]
    assert written.count(MARKUP.encode()) == 2


def test_dead_letters_of_all_connectors(screens: Console) -> None:
    page = screens.open("dead-letters")
    row = page.get_by_role("row").filter(has_text="letters")
    expect(row).to_contain_text("VALUE_CONVERTER")
    row.get_by_role("link", name="letters").click()
    expect(page.get_by_role("heading", name="dead letter in console-dead")).to_be_visible()


def test_workers_and_what_they_run(screens: Console, busy: WorkerProcess) -> None:
    spark = busy.rest.get("/connectors?expand=spark").json().values()
    running = [task["spark"]["pid"] for each in spark for task in each["status"]["tasks"] if task.get("spark")]
    tasks = sum(len(each["status"]["tasks"]) for each in spark)
    page = screens.open("workers")
    row = page.get_by_role("row").filter(has_text=f"127.0.0.1:{busy.port}")
    expect(row.get_by_role("cell")).to_contain_text([f"127.0.0.1:{busy.port} leader", "2", str(tasks), "", "1"])
    expect(page.get_by_text("Worker has completed startup")).to_be_visible()
    expect(page.locator("dt", has_text="Memory").locator("xpath=..")).to_contain_text("MiB")
    shown = page.get_by_role("region", name="Spark").get_by_role("row").filter(has_text="letters")
    expect(shown.get_by_role("cell").last).to_be_visible()
    assert running and sorted(int(each.split()[-1]) for each in shown.all_inner_texts()) == sorted(running)


def test_the_level_of_a_logger(screens: Console, busy: WorkerProcess) -> None:
    """Of one that the worker lists, and of one by its name."""
    page = screens.open("loggers")
    for name, level in (("headrace.herder", "DEBUG"), ("a.plugin.of.ours", "TRACE")):
        page.get_by_label("Filter loggers").fill(name)
        page.get_by_label(f"Level of {name}", exact=True).select_option(level)
        expect(page.get_by_text(f"{name} and all loggers below it have the level {level}")).to_be_visible()
        assert busy.rest.get(f"/admin/loggers/{name}").json()["level"] == level
        expect(page.get_by_label(f"Level of {name}", exact=True)).to_have_value(level)


def test_events_say_what_has_changed_and_who_has_changed_it(screens: Console, busy: WorkerProcess) -> None:
    """States as they change, and beside them the changes that have caused them, also those before the page."""
    busy.rest.put("/admin/loggers/quiet", json={"level": "INFO"})
    page = screens.open()
    events = page.get_by_role("region", name="Events")
    expect(events.get_by_role("row").first).to_contain_text("anonymous: PUT /admin/loggers/quiet")
    busy.rest.put("/connectors/letters/pause")
    expect(events.get_by_role("row").first).to_contain_text("letters is paused")
    expect(events.get_by_role("row").nth(1)).to_contain_text("letters anonymous: PUT /connectors/letters/pause")
    busy.rest.put("/connectors/letters/resume")
    expect(events.get_by_role("row").first).not_to_contain_text("paused")


def test_the_audit_has_all_changes_and_markup_in_them_is_text(screens: Console, busy: WorkerProcess) -> None:
    """Also of no connector, and of one that never was; the newest first, and chosen as by the API."""
    busy.rest.put("/admin/loggers/quiet", json={"level": "INFO"})
    busy.rest.delete(f"/connectors/{encoded(MARKUP)}")
    page = screens.open("audit")
    rows = page.get_by_role("region", name="Changes").get_by_role("row")

    def shown(**query: str) -> list[str]:
        found = [each["what"] for each in busy.rest.get("/changes", params={"limit": 1000, **query}).json()["changes"]]
        expect(rows).to_have_count(len(found) + 1)
        for at, what in enumerate(found[:10], 1):
            expect(rows.nth(at)).to_contain_text(what)
        return found

    assert "PUT /admin/loggers/quiet" in shown()
    expect(rows.filter(has_text=MARKUP).first).to_contain_text("404")
    assert page.locator("img").count() == 0
    page.get_by_label("Result").select_option("failed")
    assert "PUT /admin/loggers/quiet" not in shown(result="failed")
    page.get_by_label("Connector").fill("img")
    assert shown(result="failed", connector="*img*")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_label("Text", exact=True).fill("LOGGERS/quiet")
    assert set(shown(text="loggers/quiet")) == {"PUT /admin/loggers/quiet"}


def test_plots_begin_before_their_page(screens: Console, busy: WorkerProcess) -> None:
    """Of all connectors together and of one: a page shows at once what workers have kept of the last hour."""
    for segments in ((), ("connectors", "letters")):
        past = f"/{'/'.join((*segments, 'history'))}"
        wait_for(lambda path=past: len(rates(busy, path)) > 3, 90, f"values of {past}")  # type: ignore[misc]
        most = max(rates(busy, past))
        assert most > 0
        plot = screens.open(*segments).get_by_role("img", name=re.compile("^Records per second:"))
        expect(plot).to_have_accessible_name(re.compile(f"at most {most:.1f} in the last hour"))
        assert plot.evaluate(DRAWN) > 5


def rates(worker: WorkerProcess, path: str) -> list[float]:
    """The known values."""
    return [each for each in worker.rest.get(path).json()["records_per_second"] if each is not None]


def test_the_keyboard_leads_everywhere(screens: Console) -> None:
    page = screens.open()
    expect(page.get_by_test_id("cluster-health")).to_contain_text("failed")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Filter connectors")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")
    page.keyboard.press("/")
    expect(page.get_by_label("Filter connectors")).to_be_focused()
    page.keyboard.type("broken")
    expect(page.get_by_role("row")).to_have_count(2)
    page.keyboard.press("Tab")


def test_a_worker_that_does_not_answer_is_said_so(screens: Console) -> None:
    screens.page.route("**/events", lambda route: route.abort())
    page = screens.open("connectors")
    expect(page.get_by_role("row")).to_have_count(3)
    page.route("**/connectors?*", lambda route: route.abort())
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/connectors?*")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_files_are_asked_for_once(screens: Console) -> None:
    """The second page is only asked for again; all that it loads is kept."""
    sizes = "performance.getEntriesByType('resource').filter(e => e.name.includes('/static/')).map(e => e.transferSize)"
    page = screens.open()
    expect(page.get_by_test_id("cluster-health")).to_be_visible()
    first = page.evaluate(sizes)
    page.reload()
    expect(page.get_by_test_id("cluster-health")).to_be_visible()
    assert len(first) > 20 and sum(first) < 300_000
    assert page.evaluate(sizes) == [0] * len(first)
