# SPDX-License-Identifier: Apache-2.0
"""The functions of frame jobs that show a step: its plan, and its rows. Spark's driver imports them by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from headrace.api.record_frames import transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPLAIN: Final = f"{__name__}:explain"
OF_BATCH: Final = f"{__name__}:of_batch"
OF_EACH: Final = f"{__name__}:of_each"
PLAN: Final = "plan"
"""The only column of ``explain``'s result."""
RECORD: Final = " record"
"""The column that ``of_each`` adds: the number of the row's record in the input. No query makes such a name."""
WHOLE: Final = -1
"""The number of rows that a query over several records made of the whole input."""
_BY_ROW: Final = ("Project", "Filter", "Generate", "SubqueryAlias", "View", "Union", "WithCTE", "CTERelationDef")
"""Spark's nodes that make their rows of one row each."""
MAX_ROWS: Final = 1_000
"""Rows of one job that are shown; the jobs make one more if there are more."""


def explain(session: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return one row with the plan of the step, as Spark's ``explain`` formats it. Runs no job. A `FrameFunction`."""
    java: Any = transform(session, frame, settings)._jdf
    jvm: Any = session._jvm
    text = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.explainString(java.queryExecution(), "formatted")
    return session.createDataFrame([(str(text),)], f"{PLAN} STRING")


def of_batch(session: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return the rows that the step makes of the batch. A `FrameFunction`."""
    return transform(session, frame, settings).limit(MAX_ROWS + 1)


def of_each(session: SparkSession, frame: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Return the rows that the step makes of each record, given as a batch of its own. A `FrameFunction`.

    A result's row does not name the record that it was made of, so each record is a batch. A query over several
    records, as with ``GROUP BY``, gets the whole batch instead, as in a task.
    """
    assert frame is not None
    batch, schema = frame.toArrow(), frame.schema
    whole = transform(session, session.createDataFrame(batch, schema), settings)
    if not _is_by_row(whole):
        return whole.selectExpr("*", f"{WHOLE} AS `{RECORD}`").limit(MAX_ROWS + 1)
    results = []
    for number in range(batch.num_rows):
        record = session.createDataFrame(batch.slice(number, 1), schema)
        results.append(transform(session, record, settings).selectExpr("*", f"{number} AS `{RECORD}`"))
    return reduce(lambda first, second: first.unionAll(second), results).limit(MAX_ROWS + 1)


def _is_by_row(frame: DataFrame) -> bool:
    """Return True if each row of the frame is made of one row of its input."""
    java: Any = frame._jdf
    left = [java.queryExecution().analyzed()]
    while left:
        node = left.pop()
        children = node.children()
        if not node.subqueries().isEmpty() or (not children.isEmpty() and node.nodeName() not in _BY_ROW):
            return False
        left += [children.apply(number) for number in range(children.size())]
    return True
