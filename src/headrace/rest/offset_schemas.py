# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and answers about offsets."""

from __future__ import annotations

from typing import Final

from headrace.model.info import OffsetBounds, OffsetDifference, PartitionBounds
from headrace.rest.schema_parts import OBJECT, TEXT, Schema, array, derived, exactly, nullable, ref

OFFSET_SCHEMAS: Final[dict[str, Schema]] = {
    "Offset": exactly(partition=OBJECT, offset_=nullable(OBJECT)),
    "Offsets": exactly(offsets=array(ref("Offset")), bounds_=nullable(ref("OffsetBounds"))),
    "OffsetBounds": derived(OffsetBounds),
    "PartitionBounds": derived(PartitionBounds),
    "NewOffsets": {
        **exactly(offsets={**array(ref("Offset")), "minItems": 1}),
        "examples": [{"offsets": [{"partition": {"filename": "/var/log/lines.txt"}, "offset": {"position": 0}}]}],
    },
    "OffsetDifference": derived(OffsetDifference),
    "OffsetsChanged": {
        "anyOf": [
            ref("Message"),
            exactly(message=TEXT, changes=array(ref("OffsetDifference"))),
        ]
    },
}
