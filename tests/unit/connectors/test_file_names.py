# SPDX-License-Identifier: Apache-2.0
"""Names of files: never a way out of their directory, and never another one's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.common.batch_names import file_name, plain_name

LONG = "ö" * 250
ODD = ["", ".", "..", "...", "a", "A", "a.", "b/c", "b%2Fc", "/", "../..", "a\0b", "\ud800", "ß", "SS", "ss", LONG]
ODD += [f"{LONG}1", "x" * 149, "x" * 151, "CON", "con", "a@b", "@", "a b", "İ", "i̇", "é", "e\u0301"]


def test_odd_names_have_files_of_their_own(tmp_path: Path) -> None:
    found = [file_name(name) for name in ODD]
    assert len({name.lower() for name in found}) == len(ODD)
    for name in found:
        (tmp_path / name).mkdir()
        (tmp_path / f"part-{name}+{'9' * 80}.parquet.crc").touch()
    assert len(list(tmp_path.iterdir())) == 2 * len(ODD)


@pytest.mark.parametrize("name", ["orders", "my sink/1", "a.b", "_x", "t-1", "x" * 150])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert file_name(name) == plain_name(name)


def test_several_names_are_no_other_ones() -> None:
    assert file_name("a", "b") == "a+b"
    several = [("a", "b"), ("a+b",), ("A", "b"), ("a", "B"), ("", "a+b")]
    assert len({file_name(*names).lower() for names in several}) == len(several)


@given(st.text(), st.text())
def test_names_differ_where_names_differ(one: str, other: str) -> None:
    first, second = file_name(one), file_name(other)
    assert (first.lower() == second.lower()) == (one == other)
    assert "/" not in first and "\0" not in first and first.isascii() and 0 < len(first) <= 150
    assert first not in (".", "..")
