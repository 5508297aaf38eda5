# SPDX-License-Identifier: Apache-2.0
"""Drop records (Java: `org.apache.kafka.connect.transforms.Filter`)."""

from __future__ import annotations

from typing import ClassVar

from headrace import KAFKA_VERSION
from headrace.api.transform import R, Transformation


class Filter(Transformation[R]):
    """A transformation that drops every record; use it with a predicate."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def apply(self, record: R) -> R | None:
        return None
