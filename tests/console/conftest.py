# SPDX-License-Identifier: Apache-2.0
"""A browser for the tests below, and the console in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.browser import Console, found_chromium, running_browser
from tests.support.debian import or_skip
from tests.support.worker_process import WorkerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: Playwright's event loop would be in the way of other tests'."""
    with running_browser(or_skip(found_chromium)) as running:
        yield running


@pytest.fixture
def console(browser: Browser, worker: WorkerProcess) -> Iterator[Console]:
    """The shared worker's console, which must have had no fault at the end."""
    opened = Console(browser, f"http://127.0.0.1:{worker.port}")
    try:
        yield opened
        assert opened.faults == []
    finally:
        opened.close()
