# SPDX-License-Identifier: Apache-2.0
"""The parts of SQL in which databases differ, by the JDBC URL. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.jdbc_drivers import database_of

_BACKTICKS: Final = frozenset({"mysql", "mariadb", "databricks", "hive2", "spark"})
_MYSQL: Final = frozenset({"mysql", "mariadb"})
_ESCAPING: Final = frozenset({"mysql", "mariadb", "databricks", "hive2", "spark"})
_MODULO: Final = frozenset({"oracle", "db2", "derby"})
_FETCH_FIRST: Final = frozenset({"oracle", "db2", "derby"})
_TYPED_MOMENTS: Final = frozenset({"oracle"})

_SESSIONS_IN_UTC: Final = {
    "connectionTimeZone": "UTC",
    "forceConnectionTimeZoneToSession": "true",
    "preserveInstants": "true",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A database's syntax of names, values and limits. `database` is the second part of its JDBC URLs."""

    database: str

    @staticmethod
    def of_url(url: str) -> Dialect:
        return Dialect(database_of(url))

    def url(self, url: str) -> str:
        """Return the URL to pass to Spark, which quotes names as MariaDB does only for URLs of MySQL."""
        if self.database != "mariadb":
            return url
        return f"jdbc:mysql:{url.split(':', 2)[2]}{'&' if '?' in url else '?'}permitMysqlScheme=true"

    def name(self, column: str) -> str:
        quote = "`" if self.database in _BACKTICKS else '"'
        return quote + column.replace(quote, quote * 2) + quote

    def text(self, value: str) -> str:
        escaped = value.replace("\\", "\\\\") if self.database in _ESCAPING else value
        return "'" + escaped.replace("'", "''") + "'"

    def moment(self, value: str) -> str:
        """Return a literal of a date or time, which all but one database accept as text in a comparison."""
        return f"TIMESTAMP '{value}'" if self.database in _TYPED_MOMENTS else f"'{value}'"

    @property
    def utc(self) -> str:
        """The suffix of a moment's text that marks it as UTC."""
        # Texts are in the session's time zone, which `session` sets.
        return "" if self.database in _MYSQL else "+00:00"

    @property
    def session(self) -> Mapping[str, str]:
        """Options of its driver that make a session's time zone UTC, where `utc` relies on it."""
        return _SESSIONS_IN_UTC if self.database in _MYSQL else {}

    def remainder(self, column: str, count: int) -> str:
        """Return an expression of the remainder, never negative."""
        if self.database in _MODULO:
            return f"ABS(MOD({column}, {count}))"
        return f"ABS({column} % {count})"

    def limited(self, select: str, rows: int) -> str:
        """Return `select`, which begins with SELECT, limited to so many rows."""
        if self.database == "sqlserver":
            return f"SELECT TOP {rows}{select.removeprefix('SELECT')}"
        if self.database in _FETCH_FIRST:
            return f"{select} FETCH FIRST {rows} ROWS ONLY"
        return f"{select} LIMIT {rows}"
