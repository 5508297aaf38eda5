# SPDX-License-Identifier: Apache-2.0
"""Whatever is in a standalone worker's files: it is read as it is meant, or refused in one line. Never in part."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headrace.api.errors import ConfigError, DataError
from headrace.cli.connector_files import read_connector_file
from headrace.config.properties_file import read_properties
from headrace.standalone import offsets_file
from headrace.storage.offset_codec import encode_key
from tests.support.odd_records import VALUES
from tests.tiers import examples

OFFSETS = {encode_key("lines", {"file": name}): b'{"position":%d}' % n for n, name in enumerate(("a", "b", "ü"), 7)}
WHOLE = offsets_file.render(OFFSETS)
FILE_OF_THE_TEST = [HealthCheck.function_scoped_fixture]
CONNECTOR = b'{"name":"c","config":%b}'


@given(st.integers(0, len(WHOLE) - 2))
def test_a_truncated_offsets_file_is_refused(length: int) -> None:
    part = WHOLE[:length]
    if part.strip():
        with pytest.raises(DataError):
            offsets_file.parse(part)
    else:
        assert offsets_file.parse(part) == {}


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 20), st.binary(max_size=3))
@example(WHOLE.index(b'"offsets"'), 0, b'"offsets":[],')
def test_a_spoilt_offsets_file_loses_nothing_in_silence(at: int, count: int, instead: bytes) -> None:
    spoilt = WHOLE[:at] + instead + WHOLE[at + count :]
    try:
        found = offsets_file.parse(spoilt)
    except DataError:
        return
    assert len(found) == len(OFFSETS)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (WHOLE.replace(b"]}", b'],"offsets":[]}'), "it has offsets twice"),
        (WHOLE.replace(b'"position":8', b'"position":8,"position":2'), "it has position twice"),
        (WHOLE.replace(b'"b"', b'"a"'), "offset 2 in it is of the same source partition as another"),
        (b"\x00" * 100, "Not JSON"),
        (b"[" * 100_000, "Not JSON"),
    ],
)
def test_what_could_be_meant_in_two_ways_is_refused(content: bytes, text: str) -> None:
    with pytest.raises(DataError, match=text):
        offsets_file.parse(content)


@settings(max_examples=examples(150))
@given(VALUES)
def test_an_offsets_file_of_anything(content: bytes | None) -> None:
    try:
        found = offsets_file.parse(content or b"")
    except DataError as error:
        assert "\n" not in str(error)
    else:
        assert found == {} and not (content or b"").strip()


@settings(max_examples=examples(150), suppress_health_check=FILE_OF_THE_TEST)
@given(VALUES | st.binary() | st.text(alphabet="a=:\\u \n\r\t#!é0").map(str.encode))
@example(b"a=\\ud800")
@example(b"name=c\\")
@example(CONNECTOR % (b'{"a":' * 100_000))
@example(CONNECTOR % b'{"a":"\\ud800"}')
@example(CONNECTOR % (b'{"a":%b}' % (b"9" * 5000)))
@example(CONNECTOR % b'{"a":NaN}')
@example(b'{"name":{"x":1},"config":{}}')
def test_a_connector_file_of_anything(tmp_path: Path, content: bytes | None) -> None:
    for suffix in (".json", ".properties"):
        path = tmp_path / f"connector{suffix}"
        path.write_bytes(content or b"")
        try:
            described = read_connector_file(path)
        except ConfigError as error:
            assert "\n" not in str(error) and str(path) in str(error)
        else:
            assert described.config["name"] == described.name
            assert all(text is None or isinstance(text, str) for text in described.config.values())


@settings(max_examples=examples(150), suppress_health_check=FILE_OF_THE_TEST)
@given(st.binary() | st.text(alphabet="a=:\\u \n\r\t#!é0").map(str.encode))
def test_a_properties_file_of_anything(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "worker.properties"
    path.write_bytes(content)
    try:
        found = read_properties(path)
    except ConfigError as error:
        assert "\n" not in str(error)
    else:
        for text in (*found, *found.values()):
            text.encode()
