# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and answers about dead letters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from headrace.inspection.dead_letters.redrive import Counts
from headrace.inspection.dead_letters.redrive_job import JobState
from headrace.inspection.dead_letters.redrive_rules import Action
from headrace.rest.schema_parts import Schema, array, exactly, nullable, ref

_TEXT: Final[Schema] = {"type": "string"}
_TEXT_OR_NULL: Final = nullable(_TEXT)
_NUMBER: Final[Schema] = {"type": "integer"}
_NUMBER_OR_NULL: Final = nullable(_NUMBER)
_FLAG: Final[Schema] = {"type": "boolean"}
_TIME: Final[Schema] = {"type": ["integer", "null"], "description": "Milliseconds since the epoch."}
_ACTION: Final[Schema] = {"enum": [action.value for action in Action]}
_COUNTS: Final = tuple(field.name for field in fields(Counts))
_SELECTION: Final[dict[str, Any]] = {
    "filter_": {**array(_TEXT), "description": "As stage=VALUE_CONVERTER; all have to match."},
    "limit_": {**_NUMBER, "minimum": 1},
    "dry_run_": _FLAG,
}

DEAD_LETTER_SCHEMAS: Final[dict[str, Schema]] = {
    "Redrive": {
        **exactly(
            **_SELECTION,
            again_={**_FLAG, "description": "Take letters too whose records were redriven before."},
            to_topic_=_TEXT,
            config_={**ref("Config"), "description": "Converters and transformations in place of the connector's."},
        ),
        "examples": [{"filter": ["stage=VALUE_CONVERTER"], "limit": 100, "dry_run": True}],
    },
    "Discard": {**exactly(**_SELECTION), "examples": [{"filter": ["message~=duplicate"], "dry_run": True}]},
    "RedriveCounts": exactly(**dict.fromkeys(_COUNTS, _NUMBER)),
    "RedrivePlan": exactly(dry_run=_FLAG, action=_ACTION, counts=ref("RedriveCounts")),
    "RedriveJob": exactly(
        id=_TEXT,
        connector=_TEXT,
        worker_id=_TEXT,
        action=_ACTION,
        state={"enum": [state.value for state in JobState]},
        error=_TEXT_OR_NULL,
        started=_TIME,
        ended=_TIME,
        counts=nullable(ref("RedriveCounts")),
        failures=array(_TEXT),
    ),
    "DeadLetterGroup": exactly(
        count=_NUMBER,
        **dict.fromkeys(("stage", "exception", "class", "message"), _TEXT_OR_NULL),
        topics=array(_TEXT),
        redriven=_NUMBER,
        oldest=_TIME,
        newest=_TIME,
        first=exactly(partition=_NUMBER, offset=_NUMBER),
    ),
    "DeadLetter": exactly(
        partition=_NUMBER,
        offset=_NUMBER,
        timestamp=_TIME,
        **dict.fromkeys(("stage", "exception", "class", "message", "stacktrace", "task"), _TEXT_OR_NULL),
        origin=exactly(
            **dict.fromkeys(("topic", "partition", "offset", "source_partition", "source_offset"), _TEXT_OR_NULL)
        ),
        redriven=_NUMBER,
        kept_from=_TEXT_OR_NULL,
        record={"type": ["object", "null"], "description": "The record before it failed, decoded."},
    ),
    "DeadLetters": exactly(
        connector=_TEXT,
        type={"enum": ["source", "sink"]},
        topic=_TEXT,
        group=_TEXT,
        pending=_NUMBER,
        complete={**_FLAG, "description": "False: there are too many to look at all; pending is an estimate."},
        matching={**_NUMBER, "description": "Letters that match the filter."},
        redriven=_NUMBER,
        oldest=_TIME,
        groups=array(ref("DeadLetterGroup")),
        letters=array(ref("DeadLetter")),
        next=_TEXT_OR_NULL,
    ),
}
