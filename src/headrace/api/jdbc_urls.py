# SPDX-License-Identifier: Apache-2.0
"""Checks of JDBC URLs in connector configurations.

A JDBC URL is as powerful as code: drivers create the files that it names, run scripts, load classes and connect to
further addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from headrace.api.errors import ConfigError
from headrace.api.jdbc_drivers import OPTIONS, database_of, driver_of, missing_driver, shown_url

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URLS_ALLOWED: Final = "spark.jdbc.urls.allowed"
"""The worker's property with the allowed URLs."""

_REMOTE: Final = {
    "derby": ("//",),
    "h2": ("tcp:", "ssl:"),
    "hsqldb": ("hsql:", "hsqls:", "http:", "https:"),
}
"""For databases that can also run inside the worker or on its files: the start of URLs of remote ones."""
_NETWORK_ONLY: Final = ("postgresql", "oracle", "sybase")
"""Databases that are always remote; their URLs have no `//`."""
_MYSQL: Final = (
    *("autodeserialize", "allowloadlocalinfile", "allowloadlocalinfileinpath", "allowurlinlocalinfile"),
    *("allowlocalinfile", "queryinterceptors", "statementinterceptors", "exceptioninterceptors"),
    *("connectionlifecycleinterceptors", "propertiestransform", "socketfactory", "clientinfoprovider", "useconfigs"),
    *("profilereventhandler", "logger", "detectcustomcollations", "authenticationplugins", "credentialtype"),
    *("defaultauthenticationplugin", "parseinfocachefactory", "serverconfigcachefactory", "queryinfocachefactory"),
    *("ha.loadbalancestrategy", "loadbalanceexceptionchecker", "serverrsapublickeyfile"),
)
_DANGEROUS: Final[Mapping[str, Sequence[str]]] = {
    "db2": ("clientrerouteserverlistjndiname", "clientrerouteserverlistjndicontext", "tracefile", "tracedirectory"),
    "derby": (
        *("create", "createfrom", "restorefrom", "rollforwardrecoveryfrom", "shutdown", "drop", "upgrade"),
        *("startmaster", "startslave", "tracefile", "tracedirectory"),
    ),
    "h2": ("init", "database_event_listener", "authenticator", "trace_level_file", "jmx"),
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
    "postgresql": (
        *("socketfactory", "socketfactoryarg", "sslfactory", "sslfactoryarg", "sslhostnameverifier"),
        *("sslpasswordcallback", "authenticationpluginclassname", "xmlfactoryfactory", "loggerfile", "loggerlevel"),
        *("pghost", "pgport", "service"),
    ),
    "sqlserver": (
        *("socketfactoryclass", "socketfactoryconstructorarg", "trustmanagerclass", "trustmanagerconstructorarg"),
        "accesstokencallbackclass",
    ),
}
"""Options that load classes, run scripts, or create or read files, by database; for other databases all of them."""
_LOOKUPS: Final = re.compile(r"\b(?:ldaps?|rmi|iiop|jndi|dns):")
"""Names that are looked up at an address within the URL."""


def check_jdbc(session: SparkSession, options: Mapping[str, str], prefix: str = OPTIONS) -> None:
    """Check the options of a reader or writer of any format; those without a JDBC URL pass.

    ``prefix`` is that of the options' properties, for messages.

    Raise ConfigError as `check_urls` does, for a driver that the worker does not have, and for a `driver` that is no
    JDBC driver class.
    """
    given = {name.lower(): value for name, value in options.items()}
    if not given.get("url", "").strip().lower().startswith("jdbc:"):
        return
    allowed = session.sparkContext.getConf().get(URLS_ALLOWED) or ""
    check_urls(options, [entry.strip() for entry in allowed.split(",") if entry.strip()])
    _check_driver(session, given["url"].strip(), given.get("driver"), prefix)


def check_urls(options: Mapping[str, str], allowed: Sequence[str]) -> None:
    """Raise ConfigError, naming the option's property, for a database that the worker does not allow.

    `allowed` are URLs in which `*` matches any text. Without any, all databases on other machines are allowed. A
    dangerous option must be part of the URL, and of the allowed URL that matches.
    """
    url = next(value for name, value in options.items() if name.lower() == "url").strip()
    plain = _decoded(url)
    database = database_of(plain)
    found = next((entry for entry in allowed if _matches(plain, entry)), None)
    if allowed and found is None:
        raise _refused(url, f"none of the URLs matches that the worker's property {URLS_ALLOWED} has")
    for name in options:
        if name.lower() in _dangerous(database):
            raise ConfigError(_remedy(f"The JDBC option {name} may not be set here"), f"spark.option.{name}")
    for name in _dangerous(database):
        if _has(plain, name) and not (found and _has(found.lower(), name)):
            raise _refused(url, f"its option {name} is dangerous")
    if _LOOKUPS.search(plain) and not (found and _LOOKUPS.search(found.lower())):
        raise _refused(url, "it has names looked up elsewhere")
    if found is None and not _is_remote(plain, database):
        raise _refused(url, "it is of a database within the worker, or on its files")


def _matches(url: str, entry: str) -> bool:
    return re.fullmatch(re.escape(entry.lower()).replace(r"\*", ".*"), url) is not None


def _decoded(url: str) -> str:
    """Return the URL as a driver may decode it, in lower case; a MySQL URL that is meant for MariaDB as MariaDB's."""
    for _ in range(4):
        url, before = unquote(url), url
        if url == before:
            break
    url = re.sub(r"\s+", " ", url).lower()
    without = re.sub(r"[?&]permitmysqlscheme=true$", "", url)
    return url if without == url else without.replace("jdbc:mysql:", "jdbc:mariadb:", 1)


def _dangerous(database: str) -> Sequence[str]:
    everything = [name for names in _DANGEROUS.values() for name in names]
    return _DANGEROUS.get(database, () if database == "oracle" else everything)


def _has(url: str, option: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(option)} ?=", url) is not None


def _is_remote(url: str, database: str) -> bool:
    rest = url.split(":", 2)[-1]
    if database in _REMOTE:
        return rest.startswith(_REMOTE[database])
    return database in _NETWORK_ONLY or re.match(r"(?:[\w+-]+:)*//[^/]", rest) is not None


def _refused(url: str, reason: str) -> ConfigError:
    return ConfigError(_remedy(f"A connector may not connect to {shown_url(url)}: {reason}"), "spark.option.url")


def _remedy(reason: str) -> str:
    return f"{reason}. The worker's operator can allow URLs, with their options, by {URLS_ALLOWED}"


def _check_driver(session: SparkSession, url: str, named: str | None, prefix: str) -> None:
    """Raise ConfigError unless there is a driver, and the class named is one: Spark instantiates any class."""
    jvm: Any = session._jvm
    known = driver_of(url)
    name = named or (known.class_name if known is not None else None)
    if name is None:
        if not _succeeds(lambda: jvm.java.sql.DriverManager.getDriver(url)):
            raise missing_driver(url, None, prefix)
        return
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    if not _succeeds(lambda: jvm.java.lang.Class.forName(name, False, loader)):
        raise missing_driver(url, named, prefix)
    found = jvm.java.lang.Class.forName(name, False, loader)
    if not jvm.java.lang.Class.forName("java.sql.Driver").isAssignableFrom(found):
        raise ConfigError(f"The class {name} is no JDBC driver", f"{prefix}driver")


def _succeeds(call: Callable[[], object]) -> bool:
    """Return False if the call of the JVM raises an error of Java's."""
    try:
        call()
    except Exception as error:
        if not hasattr(error, "java_exception"):
            raise
        return False
    return True
