# SPDX-License-Identifier: Apache-2.0
"""`make screenshots`: six screens of the console on a real worker, light and dark, as PNGs into docs/images.

Each is compared with the one that is there, and the share of pixels that differ is printed. With ``--check`` nothing is
written, and the exit code is 1 if an image is missing, or differs by more than ``MOST_DIFFERENT``.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, expect

from scripts.browser_images import difference, pixels_of
from scripts.console_scene import CONNECTORS, LETTERS, scene
from scripts.palette_png import palette_png
from tests.console.browser import Console, found_chromium, running_browser
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
SIZE: Final = {"width": 1280, "height": 800}
MOST_BYTES: Final = 120_000
MOST_DIFFERENT: Final = 0.02
"""Rates, ages and plots are of the moment, which is less than 1 %; a line that wraps elsewhere is more than 3 %."""
_VALUES: Final = 12
"""So many values the plots have in the docs; there is one for every 15 seconds."""


def _overview(console: Console) -> None:
    expect(console.open().get_by_test_id("cluster-health")).to_contain_text("1 failed")


def _connectors(console: Console) -> None:
    expect(console.open("connectors").locator(".row.item")).to_have_count(len(CONNECTORS))
    expect(console.page.locator(".spark")).to_have_count(len(CONNECTORS))


def _connector(console: Console) -> None:
    page = console.open("connectors", "orders")
    expect(page.get_by_test_id("why")).to_contain_text("healthy")
    expect(page.locator(".plot canvas").first).to_be_visible()
    expect(page.locator(".pipeline li").last).to_contain_text(re.compile(r"\d records/s"))


def _create(console: Console) -> None:
    page = console.open("create", "OrdersSource")
    page.get_by_label("name required").fill("orders-north")
    page.get_by_label("topic required").fill("orders-north")
    page.get_by_label("Add a transformation").select_option(label="ReplaceField$Value")
    page.get_by_test_id("transforms").get_by_role("textbox", name="renames").fill("id:number")
    expect(page.get_by_test_id("mistakes")).to_contain_text("is valid")
    page.get_by_role("button", name="Preview records").click()
    page.get_by_test_id("previewed").first.get_by_text("1.").click()
    page.evaluate("scrollTo(0, 0)")


def _dead_letters(console: Console) -> None:
    page = console.open("connectors", LETTERS, "dead-letters")
    expect(page.get_by_role("heading", name="2 dead letters in invoices-dead")).to_be_visible()


def _records(console: Console) -> None:
    page = console.open("connectors", LETTERS, "topics")
    page.get_by_role("button", name="invoices", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="Hartmann").first).to_be_visible()


SCREENS: Final[Mapping[str, Callable[[Console], None]]] = {
    "console-overview": _overview,
    "console-connectors": _connectors,
    "console-connector": _connector,
    "console-create": _create,
    "console-dead-letters": _dead_letters,
    "console-records": _records,
}
"""By the beginning of an image's name: opens the screen and waits until it shows what it is for."""


def names() -> list[str]:
    """Return the names of all images."""
    return [f"{screen}-{theme}.png" for screen in SCREENS for theme in THEMES]


def take(directory: Path, values: int = _VALUES) -> None:
    """Write all images into a directory, once the worker has ``values`` of the last hour.

    Raise AssertionError if a screen has a fault, or an image is too large.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-screens-") as place, scene(Path(place)) as worker:
        wait_for(lambda: _values(worker) >= values, 15 * values + 60, f"{values} values of the last hour")
        with running_browser(found_chromium()) as browser:
            _take(browser, f"http://127.0.0.1:{worker.port}", directory)


def _values(worker: WorkerProcess) -> int:
    found = worker.rest.get("/history").json()["records_per_second"]
    return len([each for each in found if each is not None])


def _take(browser: Browser, url: str, directory: Path) -> None:
    console = Console(browser, url, viewport=SIZE, reduced_motion="reduce", timezone_id="UTC")
    console.poll()
    empty = browser.new_page()
    try:
        for screen, show in SCREENS.items():
            show(console)
            console.page.wait_for_load_state("networkidle")
            for theme in THEMES:
                console.page.emulate_media(color_scheme=theme)
                taken = console.page.screenshot(caret="hide", animations="disabled")
                image = palette_png(*pixels_of(empty, taken))
                assert len(image) <= MOST_BYTES, f"{screen} {theme} has {len(image)} bytes of at most {MOST_BYTES}"
                (directory / f"{screen}-{theme}.png").write_bytes(image)
        assert console.faults == [], console.faults
    finally:
        empty.close()
        console.close()


def compared(directory: Path, last: Path) -> dict[str, float]:
    """Return the share of pixels in which each image differs from the last one; 1.0 where that is missing."""
    with running_browser(found_chromium()) as browser:
        page = browser.new_page()
        return {
            name: difference(page, (directory / name).read_bytes(), (last / name).read_bytes())
            if (last / name).exists()
            else 1.0
            for name in names()
        }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Screenshots of the console, compared with those in docs/images.")
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if one is missing or differs")
    check = parser.parse_args(arguments).check
    with tempfile.TemporaryDirectory(prefix="headrace-images-") as taken:
        take(Path(taken))
        shares = compared(Path(taken), IMAGES)
        for name, share in shares.items():
            print(f"{name:36} {share:7.2%} of the pixels differ{'' if (IMAGES / name).exists() else ': it is new'}")
        if not check:
            IMAGES.mkdir(parents=True, exist_ok=True)
            for name in names():
                shutil.copy(Path(taken) / name, IMAGES / name)
    return int(check and max(shares.values()) > MOST_DIFFERENT)


if __name__ == "__main__":
    sys.exit(main())
