# SPDX-License-Identifier: Apache-2.0
"""The driver that a JDBC URL needs, and the error if it is missing."""

from __future__ import annotations

import pytest

from headrace.api.jdbc_drivers import driver_of, missing_driver, shown_url, with_driver


@pytest.mark.parametrize(
    ("url", "class_name", "package"),
    [
        ("jdbc:postgresql://db/x", "org.postgresql.Driver", "org.postgresql:postgresql:"),
        ("JDBC:MySQL://db/x", "com.mysql.cj.jdbc.Driver", "com.mysql:mysql-connector-j:"),
        ("jdbc:mysql:loadbalance://a,b/x", "com.mysql.cj.jdbc.Driver", "com.mysql:mysql-connector-j:"),
        ("jdbc:mysql://db/x?permitMysqlScheme=true", "org.mariadb.jdbc.Driver", "org.mariadb.jdbc:mariadb-java-"),
        ("jdbc:mariadb://db/x", "org.mariadb.jdbc.Driver", "org.mariadb.jdbc:mariadb-java-client:"),
        ("jdbc:sqlserver://db;databaseName=x", "com.microsoft.sqlserver.jdbc.SQLServerDriver", "com.microsoft.sqlserv"),
        ("jdbc:oracle:thin:@//db:1521/x", "oracle.jdbc.OracleDriver", "com.oracle.database.jdbc:ojdbc11:"),
        ("jdbc:db2://db:50000/x", "com.ibm.db2.jcc.DB2Driver", "com.ibm.db2:jcc:"),
        ("jdbc:h2:tcp://db/x", "org.h2.Driver", "com.h2database:h2:"),
        ("jdbc:sqlite:/data/x.db", "org.sqlite.JDBC", "org.xerial:sqlite-jdbc:"),
        ("jdbc:snowflake://a.example.org/?db=x", "net.snowflake.client.jdbc.SnowflakeDriver", "net.snowflake:snow"),
        ("jdbc:redshift://db:5439/x", "com.amazon.redshift.jdbc.Driver", "com.amazon.redshift:redshift-jdbc42:"),
        ("jdbc:clickhouse://db/x", "com.clickhouse.jdbc.ClickHouseDriver", "com.clickhouse:clickhouse-jdbc:"),
        ("jdbc:ch:https://db/x", "com.clickhouse.jdbc.ClickHouseDriver", "com.clickhouse:clickhouse-jdbc:"),
        ("jdbc:trino://db/x", "io.trino.jdbc.TrinoDriver", "io.trino:trino-jdbc:"),
    ],
)
def test_drivers_by_url(url: str, class_name: str, package: str) -> None:
    found = driver_of(url)
    assert found is not None and found.class_name == class_name
    assert found.package.startswith(package) and found.package.count(":") == 2
    assert with_driver({"url": url})["driver"] == class_name
    for named in (None, class_name, "a.Typo"):
        message = str(missing_driver(url, named))
        assert f"spark.jars.packages={found.package}" in message and class_name in message, message


def test_other_options_have_no_driver_added() -> None:
    for options in (
        {"url": "jdbc:own://db/x"},
        {"url": "mysql:x"},
        {"path": "/x"},
        {"URL": "jdbc:mysql://db/x", "DRIVER": "a.Own"},
    ):
        assert with_driver(options) == options


def test_a_url_of_an_unknown_kind() -> None:
    reported = missing_driver("jdbc:own://db/x?password=canary")
    assert reported.name == "spark.option.url"
    assert str(reported).startswith(
        "Invalid value 'jdbc:own://db/x' for configuration spark.option.url: headrace does not"
    )
    assert "Name its class as spark.option.driver" in str(reported) and "canary" not in str(reported)
    named = missing_driver("jdbc:own://db/x", "a.Typo")
    assert (named.name, named.value) == ("spark.option.driver", "a.Typo")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:postgresql://a:1,b:2/x?user=me&password=canary", "jdbc:postgresql://a:1,b:2/x"),
        ("jdbc:postgresql:x", "jdbc:postgresql:x"),
        ("jdbc:mysql://me:canary@db:3306/x", "jdbc:mysql://db:3306/x"),
        ("jdbc:mysql://me:canary/@canary@db/x", "jdbc:mysql://db/x"),
        ("jdbc:mysql://me:a?canary@db/x", "jdbc:mysql://me"),
        ("jdbc:mysql://address=(host=db)(password=canary)/x", "jdbc:mysql://address="),
        ("jdbc:oracle:thin:me/canary@//db:1521/x", "jdbc:oracle://db:1521/x"),
        ("jdbc:oracle:thin:@db:1521:x", "jdbc:oracle:db:1521:x"),
        ("jdbc:sqlserver://db;user=me;password=canary", "jdbc:sqlserver://db"),
        ("jdbc:db2://db:50000/x:password=canary;", "jdbc:db2://db:50000/x"),
        ("canary", "canary"),
    ],
)
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    assert shown_url(url) == shown
