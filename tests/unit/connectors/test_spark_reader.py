# SPDX-License-Identifier: Apache-2.0
"""What is told of a property when Spark refuses something."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.connectors.common.jdbc_connection import database_error
from headrace.connectors.common.spark_reader import attribute_errors_to, provider


class AnalysisException(Exception):
    """As PySpark's, by name."""


class ParseException(AnalysisException):
    """As PySpark's, by name."""


@pytest.mark.parametrize(
    "error", [ParseException("[NO]\n no such\ncolumn;\n'Project [*]"), ConfigError("[NO] no such column"),
              DataError("[NO] no such column")]
)  # fmt: skip
def test_what_is_refused_is_told_of_the_property_in_one_line(error: Exception) -> None:
    with pytest.raises(ConfigError) as told, attribute_errors_to("where", "a = 1"):
        raise error
    assert told.value.name == "where"
    assert str(told.value) == "Invalid value 'a = 1' for configuration where: [NO] no such column"


@pytest.mark.parametrize(
    "error", [RetriableError("away"), ConfigError.invalid("path", "/a", "not there"), ValueError("a bug")]
)
def test_what_may_pass_or_is_anothers_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as told, attribute_errors_to("where", "a = 1"):
        raise error
    assert told.value is error


def test_only_of_avro_spark_has_no_name() -> None:
    assert provider("Avro").endswith(".AvroFileFormat")
    assert provider("csv") == "csv"


class _Java:
    """An error of the JVM's, with an SQL state."""

    def __init__(self, state: str) -> None:
        self._state = state

    def getSQLState(self) -> str:
        return self._state

    def getCause(self) -> None:
        return None

    def getMessage(self) -> str:
        return "no"

    toString = getMessage


@pytest.mark.parametrize(
    ("state", "kind", "property"),
    [
        ("28P01", ConfigError, "spark.option.user"),
        ("3D000", ConfigError, "spark.option.url"),
        ("42P01", ConfigError, None),
        ("22012", DataError, None),
        ("08001", RetriableError, None),
    ],
)
def test_a_database_tells_what_is_at_fault_by_its_state(
    state: str, kind: type[ConnectError], property: str | None
) -> None:
    error = Exception("from Java")
    error.java_exception = _Java(state)  # type: ignore[attr-defined]
    told = database_error(error)
    assert type(told) is kind
    assert getattr(told, "name", None) == property
