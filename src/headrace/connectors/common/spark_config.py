# SPDX-License-Identifier: Apache-2.0
"""Configuration of connectors that use Spark: the properties that both sources have, and the check for conflicts.

``table_datasets`` are the datasets that it names, for lineage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headrace.api.config_def import ConfigDef, ConfigKey, ConfigValue, Importance, Type
from headrace.api.datasets import Dataset, file_dataset, jdbc_dataset
from headrace.api.errors import ConfigError
from headrace.api.validators import NonEmptyString, Nullable, Range, TopicName
from headrace.connectors.common.spark_reader import FORMAT, SCHEMA

TOPIC: Final = "topic"
PATH: Final = "path"
KEY_COLUMNS: Final = "key.columns"
PARTITION_COUNT: Final = "partition.count"
BATCH_ROWS: Final = "batch.max.rows"
POLL_INTERVAL: Final = "poll.interval.ms"
RETRY_TIMEOUT: Final = "retry.timeout.ms"

_SHARED: Final = (
    ConfigDef()
    .define(TOPIC, Type.STRING, importance=Importance.HIGH, validator=TopicName(), doc="The topic to publish rows to.")
    .define(PATH, Type.STRING, None, importance=Importance.HIGH)
    .define(FORMAT, Type.STRING, None, importance=Importance.HIGH, validator=NonEmptyString())
    .define(SCHEMA, Type.STRING, None)
    .define(
        KEY_COLUMNS,
        Type.LIST,
        "",
        doc="The columns that make the record's key: the value of one, or a struct of several.",
    )
    .define(PARTITION_COUNT, Type.INT, "0", validator=Nullable(Range.at_least(0)))
    .define(BATCH_ROWS, Type.INT, "10000", validator=Nullable(Range.at_least(1)))
    .define(POLL_INTERVAL, Type.LONG, "5000", validator=Nullable(Range.at_least(1)))
    .define(RETRY_TIMEOUT, Type.LONG, "300000", validator=Nullable(Range.at_least(-1)))
)

ConflictCheck = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
"""Returns the conflicts among the values of all properties: the name of one of them, and the reason."""


def shared(name: str, doc: str = "", **changes: Any) -> ConfigKey:
    """Return the definition of a property of both sources, with the ``doc`` and other ``changes`` of one of them."""
    key = _SHARED.config_keys[name]
    return replace(key, doc=doc or key.doc, **changes)


def parse_checked(definition: ConfigDef, props: Mapping[str, str], find_conflicts: ConflictCheck) -> dict[str, Any]:
    """Return the values of the properties. Raise ConfigError for missing, invalid or conflicting ones."""
    values = definition.parse(props)
    for name, reason in find_conflicts(values):
        raise ConfigError.invalid(name, values.get(name, props.get(name)), reason)
    return values


def add_conflicts(values: list[ConfigValue], find_conflicts: ConflictCheck) -> list[ConfigValue]:
    """Add the errors of conflicting properties, which are valid each, to those of single ones."""
    by_name = {value.name: value for value in values}
    for name, reason in find_conflicts({name: value.value for name, value in by_name.items()}):
        value = by_name.setdefault(name, ConfigValue(name))
        value.add_error_message(str(ConfigError.invalid(name, value.value, reason)))
    return list(by_name.values())


def table_datasets(
    options: Mapping[str, str], table: str | None, path: str | None, topics: Iterable[str]
) -> list[Dataset]:
    """Return the dataset of a table in a database, of one that Spark knows by its name, or of a directory.

    ``options`` are Spark's of its reader or writer; the rows are records of ``topics``. A query has no dataset.
    """
    if table and options.get("url"):
        return [jdbc_dataset(options["url"], table, topics)]
    if table:
        return [Dataset("spark", table, topics=frozenset(topics))]
    return [file_dataset(path, topics)] if path else []
