# SPDX-License-Identifier: Apache-2.0
"""The error about a property when Spark refuses something."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.connectors.common.jdbc_connection import database_error
from headrace.connectors.common.spark_reader import attribute_errors_to, provider, with_spark_errors


class AnalysisException(Exception):
    """As PySpark's, by name."""


class ParseException(AnalysisException):
    """As PySpark's, by name."""


@pytest.mark.parametrize(
    "error", [ParseException("[NO]\n no such\ncolumn;\n'Project [*]"), ConfigError("[NO] no such column"),
              DataError("[NO] no such column")]
)  # fmt: skip
def test_a_refusal_names_the_property_in_one_line(error: Exception) -> None:
    with pytest.raises(ConfigError) as raised, attribute_errors_to("where", "a = 1"):
        raise error
    assert raised.value.name == "where"
    assert str(raised.value) == "Invalid value 'a = 1' for configuration where: [NO] no such column"


@pytest.mark.parametrize(
    "error", [RetriableError("away"), ConfigError.invalid("path", "/a", "not there"), ValueError("a bug")]
)
def test_what_may_pass_or_is_anothers_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, attribute_errors_to("where", "a = 1"):
        raise error
    assert raised.value is error


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
def test_a_database_shows_what_is_at_fault_by_its_state(
    state: str, kind: type[ConnectError], property: str | None
) -> None:
    error = Exception("from Java")
    error.java_exception = _Java(state)  # type: ignore[attr-defined]
    reported = database_error(error)
    assert type(reported) is kind
    assert getattr(reported, "name", None) == property


@pytest.mark.parametrize(
    ("format", "remedy"),
    [
        ("delta", "add its package to the worker's spark.jars.packages, such as io.delta:delta-spark_4."),
        (
            "org.apache.hudi",
            "add its package to the worker's spark.jars.packages, such as org.apache.hudi:hudi-spark4.",
        ),
        ("parqet", "did you mean 'parquet'?"),
        ("own", "add its package to the worker's spark.jars.packages, which its documentation names"),
    ],
)
def test_a_format_that_spark_does_not_have(format: str, remedy: str) -> None:
    def load() -> None:
        raise AnalysisException("[DATA_SOURCE_NOT_FOUND] Failed to find the data source")

    with pytest.raises(ConfigError) as raised:
        with_spark_errors({"spark.format": format}, load)
    assert str(raised.value).startswith(
        f"Invalid value '{format}' for configuration spark.format: Spark has no such format; {remedy}"
    )
