# SPDX-License-Identifier: Apache-2.0
"""Which programs a connector's configuration may start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.plugins.command_access import command_access


@pytest.fixture
def tap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `tap-x` on the path, in the directory `taps`; `shell` beside that directory is another one."""
    programs = [tmp_path / "taps" / "tap-x", tmp_path / "shell", tmp_path / "taps" / "deep" / "tap-x"]
    for program in programs:
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs[0].parent}{os.pathsep}{tmp_path}")
    monkeypatch.chdir(tmp_path)
    return programs[0]


def allowed(patterns: str, command: str) -> bool:
    try:
        command_access({"singer.commands.allowed": patterns}).check("c", {"singer.command": command})
    except ConfigError as error:
        assert error.name == "singer.command"
        assert "singer.commands.allowed" in str(error)
        return False
    return True


@pytest.mark.parametrize("command", ["tap-x", "{tap} --config x", "\u00a0tap-x", "'tap-x'", "taps/tap-x", "shell"])
def test_nothing_is_allowed_by_default(tap: Path, command: str) -> None:
    assert not allowed("", command.format(tap=tap))
    with pytest.raises(ConfigError):
        command_access({}).check("c", {"singer.command": command.format(tap=tap)})
    assert allowed("*", command.format(tap=tap))


def test_what_names_no_program_is_no_matter() -> None:
    command_access({}).check("c", {"tap": "tap-x"})
    command_access({}).check("c", {"singer.command": None})


@pytest.mark.parametrize(
    ("patterns", "command", "may"),
    [
        ("tap-x", "tap-x --verbose", True),
        ("tap-*", "tap-x", True),
        ("other,tap-x", "tap-x", True),
        ("{taps}/*", "tap-x", True),
        ("{taps}/tap-x", "{taps}/tap-x", True),
        ("{taps}/tap-x", "taps/tap-x", True),
        ("{taps}/tap-x", "taps/../taps/tap-x", True),
        ("tap-*", "not-there", False),
        ("not-there", "not-there", True),
        ("tap-x", "{taps}/tap-x", False),
        ("tap-*", "tap-/../shell", False),
        ("tap-x", "shell tap-x", False),
        ("{taps}/*", "{taps}/../shell", False),
        ("{taps}/*", "taps/../shell", False),
        ("{taps}/*", "{taps}/deep/tap-x", False),
        ("taps/*", "taps/tap-x", False),
        ("?*", "{taps}/tap-x", False),
    ],
)
def test_patterns(tap: Path, patterns: str, command: str, may: bool) -> None:
    assert allowed(patterns.format(taps=tap.parent), command.format(taps=tap.parent)) is may


def test_the_message_is_one_line_without_arguments() -> None:
    with pytest.raises(ConfigError) as caught:
        command_access({}).check("shop", {"singer.command": "sh -c 'echo topsecret'"})
    assert str(caught.value) == (
        "Invalid value 'sh' for configuration singer.command: connector shop may not start this program: the worker's "
        "singer.commands.allowed does not have it; tap and target run what headrace singer install has installed"
    )
