# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, driven by Playwright, and a page of it that notes whatever it should not do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, Page, Request, Response, expect, sync_playwright

from headrace.api.errors import ConfigError
from scripts.npm_packages import AXE, unpacked
from tests.support.debian import can_install, install

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE_MS: Final = 60_000
_BEYOND: Final = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const all = [...document.querySelectorAll("body *")];
  const wide = all.filter((each) => each.getBoundingClientRect().right > width + 1);
  return wide.slice(0, 12).map((each) => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`);
}"""
_SERIOUS: Final = ("serious", "critical")


def found_chromium() -> str:
    """Return the path of a Chromium; installed if need be. ConfigError, with the reason, where there is none."""
    if _on_path() is None and can_install():
        install("chromium")
    path = _on_path()
    if path is None:
        raise ConfigError("There is no Chromium on this machine: install Debian's package chromium")
    return path


def _on_path() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """A browser without a sandbox of its own, which root cannot have."""
    with sync_playwright() as playwright:
        playwright.selectors.set_test_id_attribute("data-test")
        expect.set_options(timeout=_PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Console:
    """The console in a tab of a browser. ``faults``: errors of scripts, of the policy, and requests to other places."""

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        self.url = url.rstrip("/")
        self._context = browser.new_context(**{"color_scheme": "light", **context})
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(_PATIENCE_MS)
        self.faults: list[str] = []
        self.bodies: list[str] = []
        """All that the browser has received, as text."""
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        self.page.on("console", lambda said: self._note(said.type, said.text))
        self.page.on("request", self._requested)
        self.page.on("response", self._answered)

    def close(self) -> None:
        self._context.close()

    def poll(self) -> None:
        """Have the page ask for changes from now on: with a stream, which never ends, the network is never idle."""
        self.page.route("**/events", lambda route: route.abort())

    def open(self, *segments: str) -> Page:
        """Open a screen by the segments of its address, percent-encoded, in a new page."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/console#/{'/'.join(segments)}")
        return self.page

    def serious_faults(self) -> list[str]:
        """What axe-core finds that keeps people from using the screen: serious and critical."""
        script = (unpacked(AXE) / "axe.min.js").read_text()
        self.page.evaluate(script)  # evaluated by the debugger, which the page's policy does not bind
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {node['target']} {node['failureSummary']}"
            for each in found["violations"]
            if each["impact"] in _SERIOUS
            for node in each["nodes"]
        ]

    def beyond_the_window(self) -> list[str]:
        """The elements that make the page wider than its window."""
        found: list[str] = self.page.evaluate(_BEYOND)
        return found

    def _note(self, kind: str, text: str) -> None:
        # An answer with an error's status is the API's, and shown by the page.
        if kind in ("error", "warning") and "Failed to load resource" not in text:
            self.faults.append(f"{kind}: {text}")

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.url, "about:", "blob:", "data:")):
            self.faults.append(f"request: {request.url}")

    def _answered(self, response: Response) -> None:
        if "json" in response.headers.get("content-type", "") and "openapi" not in response.url:
            try:
                self.bodies.append(response.text())
            except Exception:  # the page has gone on, and the body with it
                self.bodies.append("")
