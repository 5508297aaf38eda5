# SPDX-License-Identifier: Apache-2.0
"""A transformation that only Python has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.errors import DataError
from headrace.api.record import ConnectRecord
from headrace.api.transform import Transformation


class Mark(Transformation[ConnectRecord]):
    """Adds a `mark` to texts. Drops "drop", and refuses "refuse"."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._mark = configs["mark"]

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        if record.value == "drop":
            return None
        if record.value == "refuse":
            raise DataError("refused")
        return record.with_value(record.value_schema, f"{record.value}{self._mark}")
