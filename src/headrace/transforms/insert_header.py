# SPDX-License-Identifier: Apache-2.0
"""Add a header with a fixed value (KIP-145; Java: `org.apache.kafka.connect.transforms.InsertHeader`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.headers import Header, Headers
from headrace.api.transform import R, Transformation
from headrace.api.validators import NonNull
from headrace.api.values import parse_string

HEADER: Final = "header"
VALUE_LITERAL: Final = "value.literal"


class InsertHeader(Transformation[R]):
    """A transformation that appends a header to every record, also after headers of the same name."""

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        schema, value = parse_string(config[VALUE_LITERAL])
        self._header = Header(config[HEADER], value, schema)

    def apply(self, record: R) -> R | None:
        headers = record.headers.duplicate() if record.has_headers else Headers()
        return record.with_headers(headers.add_header(self._header))


_CONFIG: Final = (
    ConfigDef()
    .define(HEADER, Type.STRING, importance=Importance.HIGH, validator=NonNull(), doc="The name of the header.")
    .define(
        VALUE_LITERAL,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonNull(),
        doc="The value of the header, the same on all records; true becomes a boolean, 5 a number, [1,2] a list.",
    )
)
