# SPDX-License-Identifier: Apache-2.0
"""The terminal session in the docs is what a worker of today answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import record_session
from scripts.record_session import DOCS, STEPS, main
from scripts.terminal_recording import RecordingError, Step


def commands(text: str) -> list[str]:
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def test_every_command_of_the_docs_shows_what_it_should(tmp_path: Path) -> None:
    main(tmp_path)
    expected = [step.command for step in STEPS]
    assert commands((tmp_path / "session.txt").read_text()) == expected
    assert commands((DOCS / "session.txt").read_text()) == expected, "run `make session`"
    for directory in (tmp_path, DOCS):
        header, *events = map(json.loads, (directory / "session.cast").read_text().splitlines())
        assert header["version"] == 2
        assert [at for at, _, _ in events] == sorted(at for at, _, _ in events)


def test_another_answer_ends_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_session, "STEPS", (Step("headrace connectors ls", "no such connector"),))
    with pytest.raises(RecordingError, match="headrace connectors ls: exit code 0"):
        main(tmp_path)
    assert not list(tmp_path.iterdir())
