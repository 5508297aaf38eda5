# SPDX-License-Identifier: Apache-2.0
"""A sign-in by the browser, and screens that offer what the user's role may do and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.support.worker_process import WorkerProcess

RULES = """
rules:
  - {users: [root], role: admin}
  - {users: [vera], role: viewer}
  - {users: [olga], role: viewer}
  - {users: [olga], role: operator, connectors: ["pay-*"]}
"""
USERS = ("root", "vera", "olga")
STATE = ["Pause", "Stop", "Restart"]


@pytest.fixture(scope="module")
def guarded(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with a user for each role, and two connectors."""
    directory = tmp_path_factory.mktemp("roles")
    (directory / "users").write_text("".join(f"{user}={user}pw\n" for user in USERS))
    (directory / "rules.yaml").write_text(RULES)
    (directory / "users").chmod(0o600)
    access = {
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(directory / "users"),
        "rest.authorization.file": str(directory / "rules.yaml"),
    }
    worker = WorkerProcess(directory, broker.bootstrap_servers, **{"group.id": "console-roles", **access})
    worker.rest.auth = httpx2.BasicAuth("root", "rootpw")
    with worker:
        worker.await_answer(path="/connectors")
        for name in ("pay-1", "orders"):
            worker.create(name, **{"connector.class": "VerifiableSource", "topic": name, "throughput": "1"})
            worker.wait_for_tasks(name)
        yield worker


@contextmanager
def signed_in(browser: Browser, worker: WorkerProcess, user: str) -> Iterator[Console]:
    """The console of a user, whose name and password the browser sends when the worker asks for them."""
    credentials = {"username": user, "password": f"{user}pw"}
    console = Console(browser, f"http://127.0.0.1:{worker.port}", http_credentials=credentials)
    try:
        yield console
        assert console.faults == []
    finally:
        console.close()


def screens_of(page: Page) -> list[str]:
    return page.get_by_role("navigation", name="Screens").get_by_role("link").all_text_contents()


def tabs_of(page: Page) -> list[str]:
    return page.get_by_role("navigation", name="Parts").get_by_role("link").all_text_contents()


def buttons_of(page: Page) -> list[str]:
    return (
        page.locator(".line").filter(has=page.get_by_role("heading", level=1)).get_by_role("button").all_text_contents()
    )


def test_an_administrator_is_offered_everything(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "root") as console:
        page = console.open("connectors", "orders")
        expect(page.get_by_role("button", name="Delete")).to_be_visible()
        assert buttons_of(page) == [*STATE, "Delete"]
        assert tabs_of(page) == ["State", "Configuration", "Offsets", "Topics", "Dead letters", "Log", "Changes"]
        assert screens_of(page) == ["Overview", "Connectors", "Dead letters", "Workers", "Plugins", "Loggers"]
        page.get_by_role("link", name="Connectors").click()
        expect(page.get_by_role("link", name="Create")).to_be_visible()


def test_a_viewer_is_offered_no_change(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "vera") as console:
        page = console.open("connectors", "orders", "config")
        expect(page.get_by_role("row").filter(has_text="VerifiableSource")).to_be_visible()
        assert buttons_of(page) == []
        assert tabs_of(page) == ["State", "Configuration", "Topics"]
        assert screens_of(page) == ["Overview", "Connectors", "Workers", "Plugins"]
        page.get_by_role("link", name="Connectors").click()
        expect(page.get_by_role("row")).to_have_count(3)
        assert page.get_by_role("link", name="Create").count() == page.get_by_role("checkbox").count() == 0


def test_an_operator_of_one_connector_is_not_one_of_others(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "olga") as console:
        page = console.open("connectors", "pay-1")
        expect(page.get_by_role("button", name="Restart task 0")).to_be_visible()
        assert buttons_of(page) == STATE
        assert tabs_of(page) == ["State", "Configuration", "Offsets", "Topics", "Log", "Changes"]
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        page = console.open("connectors", "orders")
        expect(page.get_by_text("VerifiableSource")).to_be_visible()
        assert buttons_of(page) == []


def test_no_user_gets_the_console_without_a_password(browser: Browser, guarded: WorkerProcess) -> None:
    console = Console(browser, f"http://127.0.0.1:{guarded.port}")
    try:
        answer = console.page.request.get(f"{console.url}/console")
        assert answer.status == 401
        assert "basic" in answer.headers["www-authenticate"].lower()
    finally:
        console.close()
