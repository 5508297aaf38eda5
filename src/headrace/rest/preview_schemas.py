# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of answers about previews."""

from __future__ import annotations

from typing import Final

from headrace.rest.schema_parts import NUMBER, OBJECT, TEXT, TEXT_OR_NULL, TYPE, Schema, array, exactly, nullable, ref

_PART: Final = exactly(
    bytes={**TEXT_OR_NULL, "description": "In base64; null between two steps, where there are none, or for none."},
    schema={},
    value={},
    error_={**TEXT, "description": "Why its converter cannot read the bytes."},
    truncated_={"type": "boolean", "description": "True if only the first part of the value is shown."},
)
_HEADERS: Final = array(exactly(key=TEXT, value=ref("Part")))
_PREVIEW_ERROR: Final = nullable(
    exactly(
        stage=TEXT,
        transform_=TEXT_OR_NULL,
        **{"class_": TEXT},
        error=TEXT_OR_NULL,
        message=TEXT,
        hint=TEXT_OR_NULL,
        deadLetterTopic_=TEXT,
        trace_=TEXT,
    )
)
_RESULT: Final = [ref("RecordInKafka"), ref("RecordBetweenSteps")]


PREVIEW_SCHEMAS: Final[dict[str, Schema]] = {
    "Part": _PART,
    "RecordBetweenSteps": exactly(
        topic=TEXT,
        partition=nullable(NUMBER),
        timestamp=nullable(NUMBER),
        key=ref("Part"),
        value=ref("Part"),
        headers=_HEADERS,
    ),
    "RecordInKafka": exactly(
        topic=TEXT,
        partition=nullable(NUMBER),
        offset=nullable(NUMBER),
        timestamp=nullable(NUMBER),
        timestampType=TEXT,
        key=ref("Part"),
        value=ref("Part"),
        headers=_HEADERS,
    ),
    "PreviewStep": exactly(
        transform=TEXT,
        **{"class": TEXT},
        outcome={"enum": ["changed", "unchanged", "dropped", "combined", "skipped", "failed", "not previewed"]},
        predicate_=exactly(predicate=TEXT_OR_NULL, result={"type": ["boolean", "null"]}, negate={"type": "boolean"}),
        after_=ref("RecordBetweenSteps"),
        rows_={**array(ref("RecordBetweenSteps")), "description": "All records, if the step made several of it."},
        row_={**NUMBER, "description": "Which of the several records a step before made, counted from 1."},
        message_=TEXT,
    ),
    "PreviewedRecord": exactly(
        polled_=ref("RecordBetweenSteps"),
        consumed_=ref("RecordInKafka"),
        sourcePartition_=nullable(OBJECT),
        sourceOffset_=nullable(OBJECT),
        steps=array(ref("PreviewStep")),
        outcome={
            "enum": [
                "written",
                "put",
                "dropped",
                "combined",
                "skipped",
                "dead letter",
                "fails the task",
                "not previewed",
            ],
        },
        result={"anyOf": [*_RESULT, {"type": "null"}]},
        results_={**array({"anyOf": _RESULT}), "description": "All results, if there are several."},
        error_=_PREVIEW_ERROR,
    ),
    "Preview": exactly(
        connector=TEXT,
        type=TYPE,
        task=NUMBER,
        tasks={"type": ["integer", "null"], "description": "How many tasks there are; null if that is not known."},
        records=array(ref("PreviewedRecord")),
        plans={
            **array(exactly(transform=TEXT, **{"class": TEXT}, plan=TEXT)),
            "description": "The plans of the steps that run on Spark, as its `explain` formats them.",
        },
        dryRun={
            **nullable(exactly(rows=array({}), schema=TEXT_OR_NULL)),
            "description": "What a sink would write, if its connector can show it.",
        },
        end={"enum": ["records", "end", "time", "error", "killed", "died"]},
        stage={**TEXT, "description": "The last method that was called, or what else was done last."},
        error=_PREVIEW_ERROR,
        notes=array(TEXT),
    ),
}
