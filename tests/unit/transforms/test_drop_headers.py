# SPDX-License-Identifier: Apache-2.0
"""DropHeaders beyond the vectors."""

from __future__ import annotations

from headrace.api.headers import Headers
from headrace.api.record import SourceRecord
from headrace.transforms.drop_headers import DropHeaders


def drop(names: str) -> DropHeaders[SourceRecord]:
    transformation: DropHeaders[SourceRecord] = DropHeaders()
    transformation.configure({"headers": names})
    return transformation


def test_names_count_in_their_case_and_the_input_is_left_alone() -> None:
    record = SourceRecord(
        {}, {}, "t", headers=Headers().add_int("a", 1).add_int("A", 2).add_int("b", 3).add_int("a", 4)
    )
    found = drop("a, c").apply(record)
    assert found is not None
    assert [(header.key, header.value) for header in found.headers] == [("A", 2), ("b", 3)]
    assert len(record.headers) == 4


def test_a_record_without_headers_is_the_same_record() -> None:
    record = SourceRecord({}, {}, "t")
    assert drop("a").apply(record) is record
