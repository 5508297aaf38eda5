# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of answers about health."""

from __future__ import annotations

from typing import Final

from headrace.api.lag import LagUnit
from headrace.model.auto_restart import NO_POLICY, ON_FAILURE
from headrace.model.health import Handling, Stage, TaskConfigsStage
from headrace.model.step_counts import StepKind
from headrace.rest.schema_parts import (
    AGE,
    FRACTION,
    NUMBER,
    OBJECT,
    STATE,
    TEXT,
    TEXT_OR_NULL,
    TYPE,
    VERDICT,
    Schema,
    array,
    exactly,
    mapping,
    nullable,
    ref,
)

HEALTH_SCHEMAS: Final[dict[str, Schema]] = {
    "ConnectorHealth": exactly(
        name=TEXT,
        type=TYPE,
        verdict=VERDICT,
        why=TEXT,
        connector=exactly(
            state=STATE,
            worker_id=TEXT_OR_NULL,
            verdict=VERDICT,
            why=TEXT,
            auto_restart=ref("AutoRestart"),
            task_configs_error=nullable(ref("TaskConfigsError")),
        ),
        tasks=array(ref("TaskHealth")),
    ),
    "History": exactly(
        until={**NUMBER, "description": "The time of the last value, in milliseconds since the epoch."},
        period={**NUMBER, "description": "Milliseconds from one value to the next."},
        records_per_second={
            **array(nullable(FRACTION)),
            "description": "Records written to Kafka or put into sinks, the oldest value first; null where none ran.",
        },
        lag={**array(nullable(FRACTION)), "description": "Records that sinks were behind; null where none ran."},
        missing={**mapping(TEXT), "description": "Workers that have not answered, and why: their part is not counted."},
    ),
    "AutoRestart": exactly(
        policy={"enum": [NO_POLICY, ON_FAILURE]},
        attempts={**NUMBER, "description": "Automatic restarts in a row."},
        max_attempts=NUMBER,
        next_attempt_ms=nullable({**NUMBER, "description": "Milliseconds since the epoch."}),
        gave_up={"type": "boolean"},
        reason=TEXT_OR_NULL,
    ),
    "TaskHealth": exactly(
        auto_restart=ref("AutoRestart"),
        id=NUMBER,
        state=STATE,
        worker_id=TEXT_OR_NULL,
        verdict=VERDICT,
        why=TEXT,
        stage={"enum": [*(stage.value for stage in Stage), None]},
        **dict.fromkeys(("stage_since", "last_poll", "last_record", "last_commit"), AGE),
        records_per_second=nullable(FRACTION),
        bytes_per_second=nullable(FRACTION),
        last_error=nullable(ref("TaskError")),
        errors=nullable(exactly(**dict.fromkeys(("failures", "errors", "skipped", "retries", "dead_letters"), NUMBER))),
        next_attempt={**AGE, "description": "Milliseconds from now until the next attempt at what failed."},
        restarts=nullable(exactly(count=NUMBER, reason=TEXT_OR_NULL)),
        lag=nullable(
            exactly(
                unit={"enum": [unit.value for unit in LagUnit], "description": "The key of the sum of all partitions."},
                **{f"{unit.value}_": NUMBER for unit in LagUnit},
                partitions=mapping(NUMBER),
            )
        ),
        transaction_open=AGE,
        measured={**AGE, "description": "The age of the process' newest report, in milliseconds."},
        steps_={
            **nullable(array(ref("StepCounts"))),
            "description": "In the order in which records pass them; only in the answer about one connector.",
        },
    ),
    "StepCounts": exactly(
        kind={"enum": [kind.value for kind in StepKind]},
        alias={**TEXT_OR_NULL, "description": "A transformation's."},
        records_in={**nullable(NUMBER), "description": "null of the first step."},
        records_out={**nullable(NUMBER), "description": "null of the last step."},
        filtered={
            **nullable(NUMBER),
            "description": "Records that a transformation dropped; null of other steps, and of one on DataFrames.",
        },
        errors={
            **NUMBER,
            "description": "Records that failed for good and were skipped, and failures that ended the attempt.",
        },
        retries=NUMBER,
    ),
    "TaskConfigsError": exactly(
        **{"class": TEXT},
        message=TEXT,
        stage={"enum": [stage.value for stage in TaskConfigsStage]},
        age=AGE,
        since={**AGE, "description": "The age of the first failure in the row."},
        attempts=NUMBER,
        next_attempt={**NUMBER, "description": "Milliseconds until the next attempt; 0 while one is under way."},
    ),
    "TaskError": exactly(
        **{"class": TEXT},
        message=TEXT,
        stage={"enum": [stage.value for stage in Stage]},
        handling={"enum": [handling.value for handling in Handling]},
        record=nullable(OBJECT),
        age=AGE,
        time={"type": "string", "format": "date-time"},
        hint=TEXT_OR_NULL,
    ),
}
