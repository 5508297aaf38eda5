# SPDX-License-Identifier: Apache-2.0
"""The console's files: what is vendored is what was fetched, and nothing leads elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from headrace.console.static_files import StaticFiles, static_files

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src" / "headrace" / "console" / "static"
VENDOR = STATIC / "vendor"
VENDORED = json.loads((VENDOR / "vendor.json").read_text())
OWN = [path for path in STATIC.rglob("*.js") if path.parent != VENDOR]
PAGES = ("console.html", "docs.html")


def test_vendored_files_are_those_that_were_fetched() -> None:
    found = {entry["file"]: entry["sha256"] for entry in VENDORED}
    there = {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")}
    assert found == {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in there}


def test_vendored_packages_have_their_licences_and_are_in_the_inventory() -> None:
    inventory = (ROOT / "docs" / "licences.md").read_text()
    for entry in VENDORED:
        assert (VENDOR / entry["licence_file"]).stat().st_size > 500
        assert f"| {entry['name']} | {entry['version']} | {entry['licence']} |" in inventory


@pytest.mark.parametrize("path", [*OWN, *VENDOR.glob("*.js")], ids=lambda path: path.name)
def test_modules_import_files_that_are_there(path: Path) -> None:
    imported = re.findall(r"""(?:\bfrom|\bimport)\s*["']([^"']+)["']""", path.read_text())
    assert [name for name in imported if not name.startswith(".")] == []
    assert [name for name in imported if not (path.parent / name).is_file()] == []


@pytest.mark.parametrize("path", [*OWN, *STATIC.glob("*.css"), *STATIC.glob("*.html")], ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere_or_made_of_markup(path: Path) -> None:
    text = path.read_text()
    # A namespace is a name, not an address.
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon[a-z]+=\"|style=\"", text) == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_each_module_names_its_licence_and_stays_short(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("// SPDX-License-Identifier: Apache-2.0\n// ")
    assert len(text.splitlines()) <= 250


def test_a_changed_file_changes_the_digest() -> None:
    first = StaticFiles.of({"a.js": b"1", "b.css": b""})
    assert first.digest == StaticFiles.of({"b.css": b"", "a.js": b"1"}).digest
    changed = [StaticFiles.of(contents) for contents in ({"a.js": b"2", "b.css": b""}, {"a.js": b"1", "c.css": b""})]
    assert first.digest not in {each.digest for each in changed}


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_their_files_by_the_digest(page: str) -> None:
    served = static_files()
    text = served.page(page, "app/ vendor/").content.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', text)
    prefix = f"console/static/{served.digest}/"
    assert "{{" not in text and named
    assert [name for name in named if name.removeprefix(prefix) not in served.files] == []


def test_the_page_stays_light() -> None:
    weight = sum(
        len(file.content)
        for path, file in static_files().files.items()
        if path.endswith((".js", ".css", ".svg")) or path == "console.html"
    )
    assert weight <= 300_000
