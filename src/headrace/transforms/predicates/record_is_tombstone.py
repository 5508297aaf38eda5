# SPDX-License-Identifier: Apache-2.0
"""RecordIsTombstone (Java: `org.apache.kafka.connect.transforms.predicates.RecordIsTombstone`)."""

from __future__ import annotations

from headrace import KAFKA_VERSION
from headrace.api.transform import Predicate, R


class RecordIsTombstone(Predicate[R]):
    """A predicate that is true for records whose value is null, whatever its schema and default."""

    def version(self) -> str:
        return KAFKA_VERSION

    def test(self, record: R) -> bool:
        return record.value is None
