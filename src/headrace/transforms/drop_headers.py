# SPDX-License-Identifier: Apache-2.0
"""Remove headers by name (KIP-145; Java: `org.apache.kafka.connect.transforms.DropHeaders`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.headers import Headers
from headrace.api.transform import R, Transformation
from headrace.api.validators import ValidList

HEADERS: Final = "headers"


class DropHeaders(Transformation[R]):
    """A transformation that removes every header with one of the names."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._dropped = frozenset(_CONFIG.parse(configs)[HEADERS])

    def apply(self, record: R) -> R | None:
        if not record.has_headers:
            return record
        dropped = self._dropped
        return record.with_headers(Headers([header for header in record.headers if header.key not in dropped]))


_CONFIG: Final = ConfigDef().define(
    HEADERS,
    Type.LIST,
    importance=Importance.HIGH,
    validator=ValidList(allow_empty=False),
    doc="The names of the headers to remove.",
)
