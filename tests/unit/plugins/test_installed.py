# SPDX-License-Identifier: Apache-2.0
"""Functions of plugins that have a Spark session get what they bring."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from headrace.plugins.discovery import Plugins
from headrace.plugins.installed import plugin_packages, register_plugins


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Plugins]:
    """A directory of plugins with a package that has entry points, some of them broken."""
    (tmp_path / "brings.py").write_text(
        dedent(
            """
            def first(session): session.append("first")
            class Part:
                @staticmethod
                def second(session): session.append("second")
            def fails(session): raise ValueError("needs a licence")
            def leaves(session): raise SystemExit(1)
            """
        )
    )
    info = tmp_path / "brings-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brings\nVersion: 1.0\n")
    names = ("first", "fails", "leaves", "nothing", "Part.second")
    points = "".join(f"{name} = brings:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[headrace.functions]\n{points}missing = not_there:register\n")
    modules, path = set(sys.modules), list(sys.path)
    yield Plugins((str(tmp_path),), ())
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_all_are_called_and_broken_ones_are_reported(plugins: Plugins, caplog: pytest.LogCaptureFixture) -> None:
    session: list[str] = []
    with caplog.at_level(logging.WARNING):
        register_plugins(session)
    assert session == ["first", "second"]
    # Other tests of this process may have added plugins of their own.
    reported = [text for record in caplog.records if "brings" in (text := record.getMessage()) or "not_there" in text]
    assert len(reported) == 4
    assert "Plugin fails (brings:fails) registers nothing: ValueError('needs a licence')" in reported
    assert any(
        text.startswith("Plugin missing (not_there:register) registers nothing: ModuleNotFound") for text in reported
    )


def test_a_package_that_brings_nothing_else_is_one_of_plugins(plugins: Plugins) -> None:
    """Executors get it, and its other functions may be named by connectors; it is not in the list of plugins."""
    assert {"brings"} <= {module for _, modules in plugin_packages() for module in modules}
    assert plugins.function("brings:first", "transforms.q.functions").__name__ == "first"
    assert not [info for info in plugins.describe() if "brings" in info.class_name]
