# SPDX-License-Identifier: Apache-2.0
"""Drop records (Java: `org.apache.kafka.connect.transforms.Filter`)."""

from __future__ import annotations

from headrace import KAFKA_VERSION
from headrace.api.transform import R, Transformation


class Filter(Transformation[R]):
    """Drops every record that it gets; a predicate decides which those are."""

    def version(self) -> str:
        return KAFKA_VERSION

    def apply(self, record: R) -> R | None:
        return None
