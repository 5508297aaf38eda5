# SPDX-License-Identifier: Apache-2.0
"""Which databases connectors may connect to."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.api.jdbc_urls import check_jdbc, check_urls

H2 = "jdbc:h2:mem:x;DB_CLOSE_DELAY=-1;INIT=RUNSCRIPT FROM '/x.sql'"


def refused(url: str, allowed: Sequence[str] = (), **options: str) -> bool:
    try:
        check_urls({"url": url, **options}, allowed)
    except ConfigError as error:
        assert "spark.jdbc.urls.allowed" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://db/shop",
        "jdbc:postgresql:shop",
        "jdbc:postgresql://a:1,b:2/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "jdbc:mysql:loadbalance://a,b/shop",
        "jdbc:mysql://db/shop?permitMysqlScheme=true",
        "jdbc:mariadb://db/shop?sessionVariables=sql_mode=ANSI",
        "jdbc:oracle:thin:@//db:1521/shop",
        "jdbc:oracle:thin:@db:1521:shop",
        "jdbc:sqlserver://db;databaseName=shop;encrypt=true",
        "jdbc:db2://db:50000/shop",
        "jdbc:derby://db:1527/shop",
        "jdbc:h2:tcp://db/~/shop",
        "jdbc:hsqldb:hsql://db/shop",
        "jdbc:snowflake://account.example.org/?db=shop",
    ],
)
def test_databases_elsewhere_are_allowed(url: str) -> None:
    assert not refused(url)


@pytest.mark.parametrize(
    "url",
    [
        *("jdbc:h2:mem:x", "jdbc:h2:file:/etc/x", "jdbc:h2:~/x", "jdbc:h2:zip:/x.zip!/y", "JDBC:H2:MEM:x"),
        *("jdbc:derby:/tmp/x", "jdbc:derby:memory:x", "jdbc:derby:directory:x", "jdbc:sqlite:/etc/x", "jdbc:duckdb:"),
        *("jdbc:hsqldb:mem:x", "jdbc:hsqldb:file:/x", "jdbc:calcite:model=inline:{}", "jdbc:other:file:///etc/x"),
    ],
)
def test_databases_on_files_and_in_memory_are_not(url: str) -> None:
    assert refused(url)
    assert not refused(url, ["jdbc:*"])


@pytest.mark.parametrize(
    "url",
    [
        H2,
        "jdbc:h2:tcp://db/x;init=CREATE ALIAS x AS 'y'",
        "jdbc:h2:tcp://db/x; INIT =SELECT 1",
        "jdbc:derby://db/shop;create=true",
        "jdbc:postgresql://db/x?socketFactory=org.springframework.X&socketFactoryArg=http://e",
        "jdbc:postgresql://db/x?ssl=true&SSLfactory=X",
        "jdbc:postgresql://db/x?loggerLevel=TRACE&loggerFile=/tmp/x.jsp",
        "jdbc:postgresql://db/x?PGHOST=elsewhere",
        "jdbc:mysql://db/x?autoDeserialize=true",
        "jdbc:mysql://db/x?%61utoDeserialize=true",
        "jdbc:mysql://db/x?%2561utoDeserialize=true",
        "jdbc:mysql://address=(host=db)(autoDeserialize=true)/x",
        "jdbc:mysql://(host=db,queryInterceptors=X)/x",
        "jdbc:mysql://db/x?allowLoadLocalInfile=true&permitMysqlScheme=true",
        "jdbc:sqlserver://db;socketFactoryClass=X",
        "jdbc:db2://db/x:clientRerouteServerListJNDIName=ldap://e;",
        "jdbc:oracle:thin:@ldap://e/x",
        "jdbc:unknown://db/x?url=jndi:ldap://e",
        "jdbc:unknown://db/x?socketFactory=X",
    ],
)
def test_dangerous_options_are_refused_unless_they_are_named(url: str) -> None:
    assert refused(url)
    assert refused(url, ["jdbc:*"])


def test_what_is_allowed_with_its_options() -> None:
    assert not refused(H2, ["jdbc:postgresql:*", "jdbc:h2:mem:*;DB_CLOSE_DELAY=-1;INIT=RUNSCRIPT FROM '*'"])
    assert refused(H2, ["jdbc:h2:mem:*;DB_CLOSE_DELAY=-1"])
    assert refused(H2.replace("RUNSCRIPT", "CREATE"), ["jdbc:h2:mem:*;INIT=RUNSCRIPT FROM '*'"])


def test_a_list_is_all_there_is() -> None:
    allowed = ["jdbc:postgresql://db.example.org/*", "jdbc:mariadb://db/shop", "jdbc:postgresql://[::1]/*"]
    assert not refused("jdbc:postgresql://DB.example.org/shop", allowed)
    assert not refused("jdbc:postgresql://[::1]/shop", allowed)
    assert not refused("jdbc:mysql://db/shop?permitMysqlScheme=true", allowed)
    assert refused("jdbc:postgresql://db.example.com/shop", allowed)


def test_dangerous_options_beside_the_url() -> None:
    assert refused("jdbc:postgresql://db/x", socketFactory="X")
    assert not refused("jdbc:postgresql://db/x", user="me", password="x", fetchsize="1")


def test_passwords_are_not_reported() -> None:
    with pytest.raises(ConfigError) as raised:
        check_urls({"url": "jdbc:mysql://me:hidden@db/x?password=hidden&autoDeserialize=true"}, [])
    assert "hidden" not in str(raised.value)
    assert raised.value.name == "spark.option.url"


class JavaError(Exception):
    """Of the JVM's."""

    java_exception = None


class Session:
    """Of a JVM that has these classes, and no other drivers."""

    def __init__(self, **classes: str) -> None:
        self.sparkContext = SimpleNamespace(getConf=lambda: {})
        kinds = {"java.sql.Driver": SimpleNamespace(isAssignableFrom=lambda found: found == "driver")}
        self._classes: dict[str, Any] = {**kinds, "a.Driver": "driver", "a.Gadget": "gadget", **classes}
        utils = SimpleNamespace(getContextOrSparkClassLoader=lambda: None)
        self._jvm: Any = SimpleNamespace(
            java=SimpleNamespace(
                lang=SimpleNamespace(Class=SimpleNamespace(forName=self._class)),
                sql=SimpleNamespace(DriverManager=SimpleNamespace(getDriver=self._class)),
            ),
            org=SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(util=SimpleNamespace(Utils=utils)))),
        )

    def _class(self, name: str, *_: object) -> Any:
        if name not in self._classes:
            raise JavaError
        return self._classes[name]


def test_a_driver_is_a_driver() -> None:
    session: Any = Session()
    url = {"URL": "jdbc:postgresql://db/x"}
    check_jdbc(session, {**url, "driver": "a.Driver"})
    with pytest.raises(ConfigError, match=r"a\.Gadget is no JDBC driver"):
        check_jdbc(session, {**url, "Driver": "a.Gadget"})
    with pytest.raises(ConfigError):
        check_jdbc(session, {"url": "jdbc:h2:mem:x"})
    check_jdbc(session, {"path": "/data"})


def test_a_driver_that_the_worker_lacks_is_named_with_its_package() -> None:
    session: Any = Session(**{"org.postgresql.Driver": "driver", "jdbc:own://db/x": "driver"})
    check_jdbc(session, {"url": "jdbc:postgresql://db/x"})
    check_jdbc(session, {"url": "jdbc:own://db/x"})
    for options, property in (
        ({"url": "jdbc:mysql://me:canary@db/x?password=canary"}, "spark.option.url"),
        ({"url": "jdbc:mysql://db/x", "driver": "com.mysql.cj.jdbc.Driver"}, "spark.option.url"),
        ({"url": "jdbc:mysql://db/x", "driver": "a.Typo"}, "spark.option.driver"),
    ):
        with pytest.raises(
            ConfigError, match=r"com\.mysql\.cj\.jdbc\.Driver.*spark\.jars\.packages=com\.mysql:"
        ) as raised:
            check_jdbc(session, options)
        assert raised.value.name == property and property in str(raised.value) and "canary" not in str(raised.value)
    with pytest.raises(ConfigError, match=r"'jdbc:other://db/x' .*Name its class as table\.t\.driver"):
        check_jdbc(session, {"url": "jdbc:other://db/x"}, "table.t.")
