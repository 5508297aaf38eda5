# SPDX-License-Identifier: Apache-2.0
"""The demo's judgement: it must see each way of going wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.text import default_text, read_lines
from demo.verdict import Verdict, verdict

LINES = [b"a", b"b", b"b", b"c"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (LINES, Verdict(4, 4, 0, 0, 0)),
        ([b"a", b"b", b"c"], Verdict(4, 3, 0, 1, 0)),
        ([b"a", b"b", b"b", b"b", b"c"], Verdict(4, 5, 1, 0, 0)),
        ([b"a", b"b", b"c", b"b"], Verdict(4, 4, 0, 0, 2)),
        ([b"a", b"b", b"b", b"x"], Verdict(4, 4, 1, 1, 0)),
        ([], Verdict(4, 0, 0, 4, 0)),
    ],
)
def test_what_is_wrong_is_counted(values: list[bytes | None], expected: Verdict) -> None:
    assert verdict(LINES, values) == expected
    assert expected.right == (values == LINES)


def test_the_default_text_has_as_many_real_lines_as_asked_for(tmp_path: Path) -> None:
    lines = read_lines(default_text(tmp_path / "text.txt", 5000))
    assert len(lines) == 5000
    assert any(b"import" in line for line in lines)


def test_lines_are_read_as_the_connector_sends_them(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(b"one\r\ntwo\rthree\n\xff\n")
    assert read_lines(file) == [b"one", b"two", b"three", "\ufffd".encode()]
