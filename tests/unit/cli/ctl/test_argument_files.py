# SPDX-License-Identifier: Apache-2.0
"""Files that options and arguments name, and that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.ctl.conftest import Commands

COMMANDS = (
    ("connectors", "create", "-f"),
    ("connectors", "update", "-f"),
    ("config", "validate", "-f"),
    ("offsets", "set", "orders", "-f"),
    ("offsets", "diff", "orders"),
    ("offsets", "import", "-f"),
    ("preview", "-f"),
    ("dlq", "redrive", "orders", "--config"),
    ("lint", "good.json", "--worker"),
)
FILES = {
    "missing": None,
    "missing/file": None,
    "folder": None,
    "bytes.json": b"\xff\xfe\x00",
    "half.json": b"{",
    "list.json": b"[1]",
    "escape.properties": b"name=\\u12\n",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("good.json").write_text('{"name": "good", "connector.class": "FileStreamSource"}')
    for name, content in FILES.items():
        if content is not None:
            Path(name).write_bytes(content)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_that_cannot_be_used(commands: Commands, command: tuple[str, ...], file: str) -> None:
    code, out, err = commands.run(*command, file)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert err.count(file) == 1


@pytest.mark.parametrize("file", ["missing", "folder"])
def test_a_file_of_the_audit(commands: Commands, file: str) -> None:
    code, out, err = commands.run("audit", "verify", file)
    assert (code, out, err.count(file), err.count("\n")) == (2, "", 1, 1)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "Is a directory"), (b"\xff", "is not in UTF-8"), (b"[", "is not valid TOML")]
)
def test_the_file_of_contexts(commands: Commands, contexts_file: Path, content: bytes | None, said: str) -> None:
    contexts_file.parent.mkdir(parents=True)
    if content is None:
        contexts_file.mkdir()
    else:
        contexts_file.write_bytes(content)
    code, out, err = commands.run("context", "ls")
    assert (code, out, err.count(str(contexts_file)), err.count("\n")) == (2, "", 1, 1)
    assert said in err


@pytest.mark.parametrize(("file", "said"), [("missing", "No such file or directory"), ("bytes.json", "not in UTF-8")])
def test_a_file_of_a_password(commands: Commands, contexts_file: Path, file: str, said: str) -> None:
    contexts_file.parent.mkdir(parents=True)
    contexts_file.write_text(f'[contexts.a]\nusername = "ann"\npassword_file = "{file}"\n')
    code, out, err = commands.run("connectors", "ls", "--context", "a")
    assert (code, out, err.count(file), err.count("\n")) == (2, "", 1, 1)
    assert said in err and "(context a, password_file)" in err
