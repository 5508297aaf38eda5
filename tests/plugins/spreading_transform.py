# SPDX-License-Identifier: Apache-2.0
"""A transformation that spreads numbers over topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api import SourceRecord
from headrace.api.transform import Transformation


class Spread(Transformation[SourceRecord]):
    """The first `each` numbers go to `<topic>-0`, the next ones to `<topic>-1`, and so on."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._each = int(configs["each"])

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record.with_topic(f"{record.topic}-{int(record.value) // self._each}")
