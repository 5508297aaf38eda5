# SPDX-License-Identifier: Apache-2.0
"""Sign-in by the page's own form, and screens that offer what the user's role may do and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.console.browser import Console
from tests.support.oidc_server import AUDIENCE, OidcServer
from tests.support.worker_process import WorkerProcess

RULES = """
rules:
  - {users: [root], role: admin}
  - {users: [vera, tom], role: viewer}
  - {users: [olga], role: viewer}
  - {users: [olga], role: operator, connectors: ["pay-*"]}
"""
USERS = ("root", "vera", "olga")
STATE = ["Pause", "Stop", "Restart"]


@pytest.fixture(scope="module")
def issuer() -> Iterator[OidcServer]:
    with OidcServer() as serving:
        yield serving


@pytest.fixture(scope="module")
def guarded(
    broker: EmbeddedBroker, issuer: OidcServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker with a user for each role, and two connectors."""
    directory = tmp_path_factory.mktemp("roles")
    (directory / "users").write_text("".join(f"{user}={user}pw\n" for user in USERS))
    (directory / "rules.yaml").write_text(RULES)
    (directory / "users").chmod(0o600)
    access = {
        "rest.authentication": "jwt,basic",
        "rest.jwt.issuer": issuer.url,
        "rest.jwt.audience": AUDIENCE,
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
    """The console of a user who has signed in."""
    console = Console(browser, f"http://127.0.0.1:{worker.port}")
    try:
        page = console.open()
        enter(page, user, f"{user}pw")
        expect(page.get_by_test_id("cluster-health")).to_be_visible()
        yield console
        assert console.faults == []
    finally:
        console.close()


def enter(page: Page, user: str, password: str) -> None:
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


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
        assert screens_of(page) == ["Overview", "Connectors", "Dead letters", "Workers", "Plugins", "Audit", "Loggers"]
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
        page = console.open("audit")
        changes = page.get_by_role("region", name="Changes").get_by_role("row")
        expect(changes.nth(1)).to_contain_text("PUT /connectors/pay-1/pause")
        assert changes.filter(has_text="orders").count() == 0
        assert screens_of(page) == ["Overview", "Connectors", "Workers", "Plugins", "Audit"]
        page = console.open("connectors", "orders")
        expect(page.get_by_text("VerifiableSource")).to_be_visible()
        assert buttons_of(page) == []


def test_a_wrong_password_is_refused_in_the_apis_words(browser: Browser, guarded: WorkerProcess) -> None:
    console = Console(browser, f"http://127.0.0.1:{guarded.port}")
    try:
        page = console.open("connectors", "orders", "topics")
        challenges: list[str | None] = []
        page.on(
            "response",
            lambda answer: answer.status == 401 and challenges.append(answer.header_value("WWW-Authenticate")),
        )
        for password in ("wrong", "verapw "):
            enter(page, "vera", password)
            expect(page.get_by_role("alert")).to_have_text("User cannot access the resource.")
        assert page.evaluate("sessionStorage.length") == 0
        assert challenges and set(challenges) == {None}  # else the browser would ask with its own dialog
        enter(page, "vera", "verapw")
        expect(page.get_by_role("heading", level=1)).to_have_text("orders")  # the screen that was asked for
        assert page.get_by_label("Password").count() == 0
        assert console.faults == []
    finally:
        console.close()


def test_credentials_are_those_of_one_tab_and_are_forgotten(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "root") as console:
        page = console.page
        page.reload()
        expect(page.get_by_test_id("cluster-health")).to_be_visible()
        assert page.context.cookies() == [] and page.evaluate("localStorage.length") == 0
        other = page.context.new_page()
        other.goto(f"{console.url}/console")
        expect(other.get_by_label("Password")).to_be_visible()
        page.goto(f"{console.url}/docs")
        expect(page.get_by_role("heading", level=1)).to_contain_text("REST API")
        page.goto(f"{console.url}/console#/connectors/orders/logs")
        expect(page.get_by_role("log")).to_contain_text("orders")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Password")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        assert "root" not in page.content() and "orders" not in page.locator("main").text_content()
        enter(page, "vera", "verapw")
        expect(page.get_by_role("heading", level=1)).to_have_text("orders")
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_test_id("cluster-health")).to_be_visible()
        assert screens_of(page) == ["Overview", "Connectors", "Workers", "Plugins"]


def test_changes_come_by_themselves_to_a_user_who_has_signed_in(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "vera") as console:
        with console.page.expect_response("**/events") as answered:
            console.page.reload()
        assert answered.value.status == 200


def test_a_password_that_is_no_longer_right_asks_for_another(browser: Browser, guarded: WorkerProcess) -> None:
    with signed_in(browser, guarded, "vera") as console:
        page = console.page
        page.evaluate("sessionStorage.setItem('headrace.authorization', 'Basic dmVyYTp4')")
        expect(page.get_by_label("Password")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        enter(page, "vera", "verapw")
        expect(page.get_by_test_id("cluster-health")).to_be_visible()


def test_a_browser_is_led_to_the_form_and_other_clients_are_asked(guarded: WorkerProcess) -> None:
    url = f"http://127.0.0.1:{guarded.port}"
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    led = httpx2.get(url, headers=browser)
    assert (led.status_code, led.headers["location"]) == (303, "console")
    refused = httpx2.get(url)
    assert refused.status_code == 401 and "Basic realm" in refused.headers["www-authenticate"]


def test_a_token_is_a_way_in(browser: Browser, guarded: WorkerProcess, issuer: OidcServer) -> None:
    console = Console(browser, f"http://127.0.0.1:{guarded.port}")
    try:
        page = console.open()
        page.get_by_role("button", name="Token").click()
        page.get_by_label("Token").fill(issuer.token(sub="tom", aud="other"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("User cannot access the resource.")
        page.get_by_label("Token").fill(issuer.token(sub="tom"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_test_id("cluster-health")).to_be_visible()
        assert screens_of(page) == ["Overview", "Connectors", "Workers", "Plugins"]
        assert console.faults == []
    finally:
        console.close()
