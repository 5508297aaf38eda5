# SPDX-License-Identifier: Apache-2.0
"""Filter drops what it gets."""

from __future__ import annotations

from headrace.api.record import SourceRecord
from headrace.transforms.filter import Filter


def test_every_record_is_dropped() -> None:
    transformation: Filter[SourceRecord] = Filter()
    transformation.configure({})
    assert transformation.apply(SourceRecord({}, {}, "t", value=1)) is None
