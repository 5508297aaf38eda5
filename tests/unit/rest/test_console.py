# SPDX-License-Identifier: Apache-2.0
"""The routes of the console and of /docs."""

from __future__ import annotations

import re

import httpx2
import pytest

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def test_browsers_are_led_to_the_console_and_other_clients_get_json(client: httpx2.Client) -> None:
    led = client.get("/", headers={"Accept": BROWSER})
    assert (led.status_code, led.headers["location"], led.headers["vary"]) == (303, "console", "Accept")
    for accept in ("*/*", "application/json", f"{BROWSER}, application/json", "text/html, image/gif, */*; q=.2"):
        assert client.get("/", headers={"Accept": accept}).json()["version"] == "4.3.1"


@pytest.mark.parametrize("page", ["/console", "/docs"])
def test_pages_and_all_they_load_have_the_policy(client: httpx2.Client, page: str) -> None:
    answer = client.get(page)
    named = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    assert answer.headers["cache-control"] == "no-cache"
    assert len(named) > 5
    for loaded in (answer, *(client.get(f"/{path}") for path in named)):
        assert loaded.status_code == 200
        assert loaded.headers["content-security-policy"] == POLICY
        assert loaded.headers["x-content-type-options"] == "nosniff"
    static = client.get(f"/{named[-1]}")
    assert static.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert static.headers["content-type"].startswith("text/javascript")
    again = client.get(f"/{named[-1]}", headers={"If-None-Match": static.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_with_a_slash_leads_to_the_one_without(client: httpx2.Client) -> None:
    answer = client.get("/console/")
    assert (answer.status_code, answer.headers["location"]) == (308, "../console")


@pytest.mark.parametrize("path", ["0000/app/main.js", "{digest}/none.js", "{digest}/%2e%2e/router.py", "{digest}/"])
def test_other_files_are_not_to_be_had(client: httpx2.Client, path: str) -> None:
    [digest] = set(re.findall(r"console/static/(\w+)/", client.get("/console").text))
    assert client.get(f"/console/static/{path.format(digest=digest)}").status_code == 404
