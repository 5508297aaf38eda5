# SPDX-License-Identifier: Apache-2.0
"""A Spark SQL query over each batch of records. Not in Java."""

from __future__ import annotations

import importlib
import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from headrace import __version__
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.frame_sql import check_query as check_text
from headrace.api.frame_sql import query_frame
from headrace.api.frame_transform import VALUE_SCHEMA, FrameTransformation
from headrace.api.frames import FrameJob
from headrace.api.jdbc_drivers import with_driver
from headrace.api.jdbc_urls import check_jdbc
from headrace.api.record import ConnectRecord
from headrace.api.record_frames import records_of, rows_of
from headrace.api.validators import NonEmptyString
from headrace.transforms._common import define_value_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)
QUERY: Final = "query"
FUNCTIONS: Final = "functions"
TABLE: Final = "table."
VIEW: Final = "records"
_TABLES: Final = "tables"
_RELOAD: Final = "reload.interval.ms"
_SHOWN: Final = 60
_KEY: Final = re.compile(r"\bkey\b", re.IGNORECASE)
"""Matches the column whose type is unknown before the first record."""


class SparkSql(FrameTransformation[ConnectRecord]):
    """A transformation by a query over the table `records`, which is the batch, and over reference tables."""

    def version(self) -> str:
        return __version__

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._query: str = config[QUERY].strip()
        tables = {table.name: table.settings for table in tables_of(configs)}
        self._settings = {QUERY: self._query, _TABLES: json.dumps(tables)}
        for name in (VALUE_SCHEMA, FUNCTIONS):
            if config[name]:
                self._settings[name] = config[name].strip()

    def functions(self) -> Mapping[str, str]:
        return {FUNCTIONS: self._settings[FUNCTIONS]} if FUNCTIONS in self._settings else {}

    def check(self) -> FrameJob:
        return replace(self.job(), function="headrace.transforms.spark_sql:check_query")

    def job(self) -> FrameJob:
        shown = " ".join(self._query.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        return FrameJob("headrace.transforms.spark_sql:run_query", self._settings, shown)


_CONFIG: Final = define_value_schema(
    ConfigDef().define(
        QUERY,
        Type.STRING,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="A Spark SQL query of the table records, which has a row for each record of a batch and the columns "
        "topic, partition, key, value, headers and timestamp, in sinks also offset. The rows of the result "
        "replace the records.",
    )
).define(
    FUNCTIONS,
    Type.STRING,
    None,
    importance=Importance.LOW,
    doc="A function, module:function, that is called with the Spark session once before the first batch, to "
    "register functions for the query.",
)


# ---- reference tables


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """A table for joins. `settings` are `format`, `path`, `schema`, and options of the format."""

    name: str
    settings: Mapping[str, str]


def tables_of(configs: Mapping[str, Any]) -> Iterator[ReferenceTable]:
    """Parse `table.<name>` (`format:csv,path:…`) and `table.<name>.<setting>`. Raise ConfigError if malformed."""
    for key in configs:
        name = key.removeprefix(TABLE)
        if key.startswith(TABLE) and "." not in name:
            yield ReferenceTable(name, _table_settings(key, configs))
    named = {key.split(".")[1] for key in configs if key.startswith(TABLE)}
    for name in sorted(named):
        if f"{TABLE}{name}" not in configs:
            raise ConfigError(f"{TABLE}{name} is missing, and there are settings for it", f"{TABLE}{name}")


def _table_settings(key: str, configs: Mapping[str, Any]) -> dict[str, str]:
    settings = {}
    for entry in str(configs[key]).split(","):
        name, colon, value = entry.partition(":")
        if not colon or not name.strip() or not value.strip():
            raise ConfigError.invalid(key, configs[key], "must be like format:csv,path:/data/rates.csv,header:true")
        settings[name.strip()] = value.strip()
    prefix = f"{key}."
    settings |= {name[len(prefix) :]: str(value) for name, value in configs.items() if name.startswith(prefix)}
    if "format" not in settings:
        raise ConfigError.invalid(key, configs[key], "must name a format, as in format:csv,path:/data/rates.csv")
    interval = settings.get(_RELOAD, "0")
    if not interval.isdigit():
        raise ConfigError.invalid(f"{prefix}{_RELOAD}", interval, "must be a number of milliseconds; 0 is never")
    if key.removeprefix(TABLE) == VIEW:
        raise ConfigError.invalid(key, configs[key], f"'{VIEW}' is the batch")
    return settings


# ---- in the worker


@dataclass(slots=True)
class _Prepared:
    """The views and checks that a session has for its queries."""

    functions: set[str] = field(default_factory=set)
    expiry: dict[str, tuple[str, float]] = field(default_factory=dict)


_PREPARED: Final = "_headrace_prepared"


def run_query(session: SparkSession, records: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Run the query. The `FrameFunction` of `SparkSql`'s jobs; Spark's errors are raised unchanged."""
    assert records is not None
    prepared: _Prepared = vars(session).setdefault(_PREPARED, _Prepared())
    _register(session, prepared, settings.get(FUNCTIONS))
    for name, table in json.loads(settings[_TABLES]).items():
        _load(session, prepared, name, table)
    records.createOrReplaceTempView(VIEW)
    return query_frame(session, settings[QUERY])


def check_query(session: SparkSession, records: DataFrame | None, settings: Mapping[str, str]) -> None:
    """Parse the query, and analyse it where the types of its columns are known. Reads no reference table."""
    assert records is not None
    query = settings[QUERY]
    check_text(session, query)
    if VALUE_SCHEMA not in settings or _KEY.search(query):
        return
    _register(session, _Prepared(), settings.get(FUNCTIONS))
    for name, table in json.loads(settings[_TABLES]).items():
        _read(session, name, table).createOrReplaceTempView(name)
    records_of(records, settings).createOrReplaceTempView(VIEW)
    rows_of(query_frame(session, query), settings)


def _register(session: SparkSession, prepared: _Prepared, name: str | None) -> None:
    if name is None or name in prepared.functions:
        return
    module, _, function = name.partition(":")
    getattr(importlib.import_module(module), function)(session)
    prepared.functions.add(name)


def _load(session: SparkSession, prepared: _Prepared, name: str, settings: Mapping[str, str]) -> None:
    """Create the view of a reference table unless it exists and is fresh.

    The view holds the rows itself, since Spark's own cache identifies a table by its path, for all sessions: a second
    read would return the rows of the first one.
    """
    text, now = json.dumps(settings, sort_keys=True), time.monotonic()
    read, expiry = prepared.expiry.get(name, ("", 0.0))
    if read == text and now < expiry:
        return
    try:
        rows = _read(session, name, settings).toArrow()
    except Exception as error:
        if read != text:
            raise
        log.warning("Reference table %s stays as it was: it cannot be read again: %s", name, _first_line(error))
    else:
        session.createDataFrame(rows).createOrReplaceTempView(name)
    interval = int(settings.get(_RELOAD, "0")) / 1000
    prepared.expiry[name] = (text, now + interval if interval else float("inf"))


def _read(session: SparkSession, name: str, settings: Mapping[str, str]) -> DataFrame:
    options = {key: value for key, value in settings.items() if key not in ("format", "path", "schema", _RELOAD)}
    check_jdbc(session, options, f"{TABLE}{name}.")
    reader = session.read.format(settings["format"]).options(**with_driver(options))
    if "schema" in settings:
        reader = reader.schema(settings["schema"])
    return reader.load(settings["path"]) if "path" in settings else reader.load()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
