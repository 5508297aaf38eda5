# SPDX-License-Identifier: Apache-2.0
"""The JDBC drivers of databases, by their URLs, and the messages about missing ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConfigError

OPTIONS: Final = "spark.option."
"""The prefix of the properties with a connector's options."""
PACKAGES: Final = "spark.jars.packages"
_ADD: Final = f"Add the driver to {PACKAGES} in the worker's properties file, and restart it"
_MARIADB_AS_MYSQL: Final = "permitmysqlscheme=true"
_OPTIONS: Final = re.compile(r"[?;&(]|:\w+=")
_NO_PORT: Final = re.compile(r"(//[^/:]*):(?!\d+(?:[/,:]|$)).*")
"""The beginning of a password that holds a separator of options."""


@dataclass(frozen=True, slots=True)
class JdbcDriver:
    """A database's driver: its class, and the Maven coordinate of its package, as `spark.jars.packages` takes it."""

    database: str
    class_name: str
    package: str


_MYSQL: Final = JdbcDriver("MySQL", "com.mysql.cj.jdbc.Driver", "com.mysql:mysql-connector-j:9.1.0")
_CLICKHOUSE: Final = JdbcDriver(
    "ClickHouse", "com.clickhouse.jdbc.ClickHouseDriver", "com.clickhouse:clickhouse-jdbc:0.7.1"
)
_DRIVERS: Final = {
    "ch": _CLICKHOUSE,
    "clickhouse": _CLICKHOUSE,
    "db2": JdbcDriver("Db2", "com.ibm.db2.jcc.DB2Driver", "com.ibm.db2:jcc:12.1.0.0"),
    "h2": JdbcDriver("H2", "org.h2.Driver", "com.h2database:h2:2.3.232"),
    "mariadb": JdbcDriver("MariaDB", "org.mariadb.jdbc.Driver", "org.mariadb.jdbc:mariadb-java-client:3.5.1"),
    "mysql": _MYSQL,
    "oracle": JdbcDriver("Oracle", "oracle.jdbc.OracleDriver", "com.oracle.database.jdbc:ojdbc11:23.6.0.24.10"),
    "postgresql": JdbcDriver("PostgreSQL", "org.postgresql.Driver", "org.postgresql:postgresql:42.7.4"),
    "redshift": JdbcDriver(
        "Redshift", "com.amazon.redshift.jdbc.Driver", "com.amazon.redshift:redshift-jdbc42:2.1.0.31"
    ),
    "snowflake": JdbcDriver(
        "Snowflake", "net.snowflake.client.jdbc.SnowflakeDriver", "net.snowflake:snowflake-jdbc:3.20.0"
    ),
    "sqlite": JdbcDriver("SQLite", "org.sqlite.JDBC", "org.xerial:sqlite-jdbc:3.47.1.0"),
    "sqlserver": JdbcDriver(
        "SQL Server",
        "com.microsoft.sqlserver.jdbc.SQLServerDriver",
        "com.microsoft.sqlserver:mssql-jdbc:12.8.1.jre11",
    ),
    "trino": JdbcDriver("Trino", "io.trino.jdbc.TrinoDriver", "io.trino:trino-jdbc:464"),
}
"""By the second part of JDBC URLs."""


def driver_of(url: str) -> JdbcDriver | None:
    """Return the driver of a JDBC URL's database; None for one that is not known."""
    return _DRIVERS.get("mariadb" if _MARIADB_AS_MYSQL in url.lower() else database_of(url))


def database_of(url: str) -> str:
    """Return the second part of a JDBC URL in lower case, empty if there is none."""
    return [*url.split(":"), "", ""][1].strip().lower()


def with_driver(options: Mapping[str, str]) -> dict[str, str]:
    """Return options of a reader or writer with the class of the driver, if they have a JDBC URL and none.

    Java finds only those drivers by itself that are present when it starts.
    """
    given = {name.lower(): value for name, value in options.items()}
    known = driver_of(given.get("url", ""))
    if known is None or "driver" in given or not given["url"].lower().startswith("jdbc:"):
        return dict(options)
    return {**options, "driver": known.class_name}


def shown_url(url: str) -> str:
    """Return the part of a JDBC URL that holds no secret: without user and password, and without options."""
    place = _OPTIONS.split(url, maxsplit=1)[0]
    log_in, at, address = place.rpartition("@")
    if at:
        place = ":".join(log_in.split(":")[:2]) + ":" + ("//" if "//" in log_in else "") + address
    return _NO_PORT.sub(r"\1", place)


def missing_driver(url: str, named: str | None = None, prefix: str = OPTIONS) -> ConfigError:
    """Return the error for a URL whose driver the worker does not have.

    ``named`` is the class in the options; ``prefix`` is that of the options' properties.
    """
    known = driver_of(url)
    if known is None:
        return _missing_unknown(url, named, prefix)
    line = f"{_ADD}: {PACKAGES}={known.package}"
    if named is None or named == known.class_name:
        reason = f"this worker has no JDBC driver for {known.database} ({known.class_name}). {line}"
        return ConfigError.invalid(f"{prefix}url", shown_url(url), reason)
    reason = f"this worker has no such class; the driver for {known.database} is {known.class_name}. {line}"
    return ConfigError.invalid(f"{prefix}driver", named, reason)


def _missing_unknown(url: str, named: str | None, prefix: str) -> ConfigError:
    line = f"{_ADD}: {PACKAGES}=<group>:<artifact>:<version>, as its documentation names it"
    if named is not None:
        return ConfigError.invalid(f"{prefix}driver", named, f"this worker has no such class. {line}")
    reason = (
        f"headrace does not know which JDBC driver URLs of this kind need. Name its class as {prefix}driver. {line}"
    )
    return ConfigError.invalid(f"{prefix}url", shown_url(url), reason)
