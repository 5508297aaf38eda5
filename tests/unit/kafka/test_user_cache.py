# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.jvm.user_cache import cache_directory, make_once


def test_cache_directory_prefers_our_variable_then_xdg_then_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", "/a")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    monkeypatch.setenv("HOME", "/c")
    assert cache_directory() == Path("/a")
    monkeypatch.delenv("HEADRACE_CACHE_DIR")
    assert cache_directory() == Path("/b/headrace")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path("/c/.cache/headrace")


def test_make_once_builds_once_even_when_asked_at_the_same_time(tmp_path: Path) -> None:
    builds: list[Path] = []

    def build(directory: Path) -> None:
        builds.append(directory)
        time.sleep(0.05)
        (directory / "made").touch()

    threads = [threading.Thread(target=make_once, args=(tmp_path / "x" / "y", build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert (tmp_path / "x" / "y" / "made").exists()


def test_a_failed_build_leaves_nothing_and_may_be_repeated(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").touch()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        make_once(tmp_path / "y", fail)
    assert [path.name for path in tmp_path.iterdir()] == [".y.lock"]
    assert list(make_once(tmp_path / "y", lambda directory: (directory / "whole").touch()).iterdir()) == [
        tmp_path / "y" / "whole"
    ]


def test_an_unwritable_cache_is_one_line_that_names_it(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    with pytest.raises(ConfigError) as caught:
        make_once(blocker / "sub" / "y", lambda directory: None)
    message = str(caught.value)
    assert str(blocker / "sub") in message and "HEADRACE_CACHE_DIR" in message and "\n" not in message


def test_what_a_killed_build_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left, others = tmp_path / ".a-1.abcdefg_", [tmp_path / name for name in (".a-1.2.abcdefg_", "a-1.2", ".a-1.x")]
    for directory in (left, *others):
        (directory / "inside").mkdir(parents=True)
    make_once(tmp_path / "a-1", lambda target: None)
    assert not left.exists()
    assert all((other / "inside").is_dir() for other in others)
