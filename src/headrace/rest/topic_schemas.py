# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of answers about topics and their records."""

from __future__ import annotations

from typing import Final

from headrace.api.record import TimestampType
from headrace.inspection.topics.topic_records import Direction
from headrace.rest.schema_parts import NUMBER, OBJECT, TEXT, Schema, array, exactly, mapping, nullable, ref

TOPIC_SCHEMAS: Final[dict[str, Schema]] = {
    "Topics": mapping(exactly(topics=array(TEXT))),
    "TopicStatistics": exactly(
        topics=array(
            exactly(
                topic=TEXT,
                direction={"enum": [direction.value for direction in Direction]},
                partitions=nullable(NUMBER),
                records=nullable({**NUMBER, "description": "End offsets less first offsets, of all partitions."}),
                bytes=nullable({**NUMBER, "description": "On the disk of one broker; null if brokers do not tell."}),
                error_={**TEXT, "description": "Why there are no numbers."},
            )
        )
    ),
    "Records": exactly(
        topic=TEXT,
        records=array(ref("Record")),
        positions={**TEXT, "description": "The next request's parameter from, to continue."},
        at_end={"type": "boolean", "description": "Whether these were all committed records."},
    ),
    "Record": exactly(
        topic=TEXT,
        partition=nullable(NUMBER),
        offset=nullable(NUMBER),
        timestamp=nullable({**NUMBER, "description": "Milliseconds since the epoch."}),
        timestampType={"enum": [kind.value for kind in TimestampType]},
        key=ref("RecordPart"),
        value=ref("RecordPart"),
        headers=array(exactly(key=TEXT, value=ref("RecordPart"))),
    ),
    "RecordPart": exactly(
        bytes={"type": ["string", "null"], "description": "In base64; null for a null."},
        schema={**nullable(OBJECT), "description": "As JsonConverter writes it; null for schemaless data."},
        value={"description": "Any JSON, for people to read."},
        error_={**TEXT, "description": "Why the converter could not decode the bytes."},
        truncated_={"const": True, "description": "Bytes or value are too large, and shortened."},
    ),
}
