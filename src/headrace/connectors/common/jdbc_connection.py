# SPDX-License-Identifier: Apache-2.0
"""A connection from the worker to a database, made by Spark's own drivers, options and log-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.jdbc_urls import check_jdbc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_AT_FAULT: Final[Mapping[str, type[ConnectError]]] = {
    "22": DataError,  # data exception
    "23": DataError,  # a constraint of the table
    "28": ConfigError,  # refused log-in
    "3D": ConfigError,  # no such database
    "42": ConfigError,  # no such table or column, no permission
}
"""Errors by the class of the SQLSTATE. All others are retriable."""
_PROPERTIES: Final = {"28": "spark.option.user", "3D": "spark.option.url"}
_REMEDIES: Final = {
    "28": "; check spark.option.user and spark.option.password",
    "3D": "; check the database's name in spark.option.url",
}


class JdbcConnection:
    """A connection for statements with ``?`` for parameters.

    Raises ConfigError and DataError for permanent errors, RetriableError for others.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run statements in one transaction. The outcome of a commit that fails is not known."""
        _run(lambda: self._connection.setAutoCommit(False))
        try:
            yield
            _run(self._connection.commit)
        except BaseException:
            _quietly(self._connection.rollback)
            raise
        _run(lambda: self._connection.setAutoCommit(True))

    def execute(self, statement: str, parameters: Sequence[str | int] = ()) -> int:
        """Run a statement and return the number of rows that it changed."""
        return self._prepared(statement, parameters, lambda prepared: int(prepared.executeUpdate()))

    def rows(self, statement: str, parameters: Sequence[str | int], columns: int) -> list[tuple[Any, ...]]:
        """Return all rows of a statement's result."""

        def fetched(prepared: Any) -> list[tuple[Any, ...]]:
            found, results = [], prepared.executeQuery()
            while results.next():
                found.append(tuple(results.getObject(index + 1) for index in range(columns)))
            return found

        return self._prepared(statement, parameters, fetched)

    def close(self) -> None:
        _quietly(self._connection.close)

    def _prepared(self, statement: str, parameters: Sequence[str | int], run: Callable[[Any], T]) -> T:
        def done() -> T:
            prepared = self._connection.prepareStatement(statement)
            try:
                for index, value in enumerate(parameters, 1):
                    if isinstance(value, str):
                        prepared.setString(index, value)
                    else:
                        prepared.setLong(index, value)
                return run(prepared)
            finally:
                prepared.close()

        return _run(done)


@contextmanager
def jdbc_connection(spark: SparkSession, options: Mapping[str, str]) -> Iterator[JdbcConnection]:
    """Open a connection. ``options`` are those of Spark's format jdbc, ``url`` among them.

    Raise ConfigError for a database that the worker does not allow.
    """
    check_jdbc(spark, options)
    connection = JdbcConnection(_run(lambda: _connect(spark, options)))
    try:
        yield connection
    finally:
        connection.close()


def _connect(spark: SparkSession, options: Mapping[str, str]) -> Any:
    jvm: Any = spark._jvm
    parameters = jvm.java.util.HashMap()
    for name, value in options.items():
        parameters.put(name, value)
    made = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
        options["url"], options.get("dbtable", "none"), jvm.PythonUtils.toScalaMap(parameters)
    )
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
    # The partition that Spark would connect for: -1 is the driver.
    return dialect.createConnectionFactory(made).apply(-1)


def _run(action: Callable[[], T]) -> T:
    try:
        return action()
    except Exception as error:
        raise database_error(error) from error


def _quietly(action: Callable[[], object]) -> None:
    """Call ``action`` and ignore its errors, at the end of a connection."""
    try:
        action()
    except Exception:
        return


def database_error(error: Exception) -> ConnectError:
    """Convert an error of Spark's JVM: ConfigError and DataError for permanent errors, RetriableError for others."""
    # PySpark converts some errors to its own, with Java's within.
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        return RetriableError(f"The database cannot be asked: {error}")
    causes = list(_causes(java))
    state, cause = next(((state, cause) for cause in causes if (state := _sql_state(cause))), ("", java))
    kind, said = _AT_FAULT.get(state[:2], RetriableError), str(cause.getMessage() or cause.toString())
    if kind is RetriableError and cause is not causes[-1]:
        said += f" ({causes[-1].toString()})"  # as of a host that is not known
    error = kind(f"The database says: {said}{_REMEDIES.get(state[:2], '')}")
    if isinstance(error, ConfigError):
        error.name = _PROPERTIES.get(state[:2])
    return error


def _causes(java: Any) -> Iterator[Any]:
    """Yield the error and its causes, from the outermost to the innermost."""
    while java is not None:
        yield java
        java = java.getCause()


def _sql_state(java: Any) -> str:
    """Return the SQLSTATE of a driver's error, empty for others. Spark's own errors have states of another kind."""
    try:
        return str(java.getSQLState() or "")
    except Exception:
        return ""
