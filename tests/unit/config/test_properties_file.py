# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.config.properties_file import parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a = = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("  a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        ("# no\n  ! no\na=b#c\n\n", {"a": "b#c"}),
        ("# no continuation \\\na=b", {"a": "b"}),
        ("a=b,\\\n   c,\\\n\td", {"a": "b,c,d"}),
        ("a=b\\\n# part of it", {"a": "b# part of it"}),
        ("a=b\\\n", {"a": "b"}),
        ("a=even\\\\\nc=d", {"a": "even\\", "c": "d"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=\\t\\n\\r\\f\\q\\u00e4\\\\", {"a": "\t\n\r\fqä\\"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("=x", {"": "x"}),
        ("", {}),
    ],
)
def test_parse_as_java(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", ["\n\na=\\u12g4", "\n\na=\\u1", "\n\n\\uxyz=a", "\n\na=\\ud83d"])
def test_bad_escape_names_the_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3: "):
        parse_properties(text)


def test_read_utf8_and_latin1(tmp_path: Path) -> None:
    path = tmp_path / "worker.properties"
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        path.write_bytes("a=ä".encode(encoding))
        assert read_properties(path) == {"a": "ä"}


def test_missing_directory_and_malformed_are_one_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.properties"
    bad.write_text("a=\\u1")
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "directory"), (bad, "line 1")):
        with pytest.raises(ConfigError, match=reason) as error:
            read_properties(path)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "secret.properties"
    path.write_text("a=b")
    path.chmod(0)
    with pytest.raises(ConfigError, match="Permission denied"):
        read_properties(path)
