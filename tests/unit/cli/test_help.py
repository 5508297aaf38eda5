# SPDX-License-Identifier: Apache-2.0
"""Every command's help page, and what the guide says of exit codes, outputs and the version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from headrace import __version__
from headrace.cli.ctl.ctl_error import ExitCode
from headrace.cli.ctl.output import Output
from headrace.cli.main import app

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "command-line.md").read_text()
WIDTH = 80
Commands = Iterator[tuple[tuple[str, ...], Any]]


def tree(command: Any, path: tuple[str, ...] = ()) -> Commands:
    """All commands and groups of commands, with the words that call them."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from tree(each, (*path, name))


TREE = list(tree(get_command(app)))
LEAVES = [(path, command) for path, command in TREE if not hasattr(command, "commands")]


def examples(command: Any) -> list[str]:
    lines = [line.strip() for line in (command.epilog or "").partition("Examples:")[2].splitlines()]
    return [line for line in lines if line]


def help_page(*path: str) -> list[str]:
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)})
    assert result.exit_code == 0
    return [line.rstrip() for line in result.stdout.splitlines()]


def problems(path: tuple[str, ...], command: Any) -> list[str]:
    """What a user would miss on the page of a command."""
    found, page, called = [], help_page(*path), " ".join(("headrace", *path))
    if not (command.help or "").strip():
        found.append("it has no help text")
    if len(examples(command)) < 2:
        found.append("its epilog has no two examples")
    found += [f"not of this command: {each}" for each in examples(command) if not f"{each} ".startswith(f"{called} ")]
    found += [f"longer than a line: {each}" for each in examples(command) if f" {each}" not in page]
    found += [f"option without help: {each.name}" for each in command.params if not (each.help or "").strip()]
    return found + [f"wider than the terminal: {line}" for line in page if len(line) > WIDTH]


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_each_page(path: tuple[str, ...], command: Any) -> None:
    assert problems(path, command) == []


@pytest.mark.parametrize("path", [path for path, command in TREE if hasattr(command, "commands")], ids=" ".join)
def test_each_group(path: tuple[str, ...]) -> None:
    command = dict(TREE)[path]
    assert (command.help or "").strip()
    for line in help_page(*path):
        assert len(line) <= WIDTH


def test_a_page_that_lacks_all_is_found() -> None:
    own = typer.Typer()

    @own.command(epilog=f"Examples:\n\n  headrace {'x' * WIDTH}")
    def version(option: str = "") -> None: ...

    assert [problem.partition(":")[0] for problem in problems(("version",), get_command(own))] == [
        "it has no help text",
        "its epilog has no two examples",
        "not of this command",
        "longer than a line",
        "option without help",
    ]


def test_each_short_help_is_a_sentence() -> None:
    first = {" ".join(path): (command.help or "").strip().splitlines()[0] for path, command in TREE}
    assert {path: line for path, line in first.items() if not re.search(r"[.:]$", line)} == {}


def table(heading: str) -> list[tuple[str, str]]:
    """The first two cells of each row of a table of the guide."""
    lines = GUIDE.partition(heading)[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [(row[0], row[1]) for row in rows if not set(row[0]) <= {"-"}]


def test_exit_codes_of_the_guide() -> None:
    documented = [int(code) for code, _ in table("| exit code | means |\n")]
    assert documented == [0, *sorted({code.value for code in ExitCode})]


def test_forms_of_output_of_the_guide() -> None:
    named = [name for cell, _ in table("| `-o` | prints |\n") for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(output.value for output in Output)
    result = CliRunner().invoke(app, ["connectors", "ls", "-o", "xml"])
    assert (result.exit_code, all(f"'{output}'" in result.stderr for output in Output)) == (2, True)


def test_version() -> None:
    for args in (["--version"], ["version"]):
        result = CliRunner().invoke(app, args)
        assert (result.exit_code, result.stdout) == (0, f"headrace {__version__}\n")
