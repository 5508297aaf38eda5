# SPDX-License-Identifier: Apache-2.0
"""Configuration of SingerSource."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError, DataError
from headrace.api.validators import NonEmptyString, Nullable, Range, ValidString
from headrace.connectors.singer.catalog import Catalog, parse_catalog
from headrace.connectors.singer.commands import (
    COMMAND,
    CONFIG,
    LINE_BYTES,
    TAP,
    command_of,
    config_text,
    read_file,
    shared,
)
from headrace.connectors.singer.json_schemas import TypeChoices
from headrace.connectors.singer.streams import Topics

CATALOG: Final = "catalog"
CATALOG_OPTION: Final = "singer.catalog.option"
INCLUDE: Final = "streams.include"
EXCLUDE: Final = "streams.exclude"
APART: Final = "streams.apart"
METADATA: Final = "streams.metadata"
TOPIC_PREFIX: Final = "topic.prefix"
TOPICS: Final = "stream.topics"
INTERVAL: Final = "singer.interval.ms"
RETRIES: Final = "singer.retries"
DISCOVERY_TIMEOUT: Final = "singer.discovery.timeout.ms"
EXACTLY_ONCE: Final = "singer.exactly.once"
HELD_RECORDS: Final = "singer.held.records"
HELD_BYTES: Final = "singer.held.bytes"
TIMESTAMPS: Final = "singer.timestamps"
DECIMALS: Final = "singer.decimals"
VERSION_FIELD: Final = "singer.version.field"
VERSIONS_TOPIC: Final = "singer.versions.topic"
TOMBSTONES: Final = "singer.tombstones"
NO_CATALOG: Final = "none"

CONFIG_DEF: Final = (
    ConfigDef()
    .define_key(
        shared(COMMAND, "The tap's command line. The worker's singer.commands.allowed has to have the program.")
    )
    .define(
        TAP,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The name of a tap that headrace singer install has installed; in place of singer.command.",
    )
    .define_key(shared(CONFIG))
    .define(
        CATALOG,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        doc="The tap's catalog: JSON text or the path of a file; none for a tap that knows no catalogs. By default "
        "the tap discovers it, and all streams that match are selected.",
    )
    .define(INCLUDE, Type.LIST, "*", doc="Glob patterns of the streams to read.")
    .define(EXCLUDE, Type.LIST, "", doc="Glob patterns of streams not to read.")
    .define(
        APART,
        Type.BOOLEAN,
        "false",
        doc="Read each stream by a run of the tap of its own, with source offsets of its own; tasks share the "
        "streams. By default one task reads all streams by one run.",
    )
    .define(
        METADATA,
        Type.STRING,
        "{}",
        doc='What to add to the metadata of streams in the catalog, by pattern: {"*": {"replication-method": '
        '"INCREMENTAL", "replication-key": "id"}}.',
    )
    .define(TOPIC_PREFIX, Type.STRING, "", importance=Importance.HIGH, doc="What topics have before the stream's name.")
    .define(TOPICS, Type.LIST, "", doc="The topics of some streams, each as stream:topic.")
    .define(
        INTERVAL,
        Type.LONG,
        "60000",
        validator=Nullable(Range.at_least(0)),
        doc="The time from the end of a run to the next one, in ms.",
    )
    .define(
        RETRIES,
        Type.INT,
        "5",
        validator=Nullable(Range.at_least(0)),
        doc="The number of failed runs in a row without a new STATE that are followed by another one.",
    )
    .define(
        EXACTLY_ONCE,
        Type.BOOLEAN,
        "false",
        importance=Importance.HIGH,
        doc="Your assertion that the tap resumes exactly after the records before a STATE. See the guide.",
    )
    .define(
        HELD_RECORDS,
        Type.INT,
        "50000",
        validator=Nullable(Range.at_least(1)),
        doc="The most records that wait for the STATE that covers them.",
    )
    .define(
        HELD_BYTES,
        Type.LONG,
        str(64 << 20),
        validator=Nullable(Range.at_least(1)),
        doc="The most bytes of lines of such records.",
    )
    .define_key(shared(LINE_BYTES))
    .define(
        TIMESTAMPS,
        Type.STRING,
        "logical",
        validator=ValidString("logical", "text"),
        doc="Dates and times as logical types, with milliseconds, or as the tap's text.",
    )
    .define(
        DECIMALS,
        Type.STRING,
        "decimal",
        validator=ValidString("decimal", "float64"),
        doc="Numbers whose multipleOf is a power of ten as Decimal or as float64.",
    )
    .define(
        VERSION_FIELD,
        Type.STRING,
        None,
        validator=NonEmptyString(),
        doc="The name of a field that values get with the version of their table, such as _sdc_table_version.",
    )
    .define(
        VERSIONS_TOPIC,
        Type.STRING,
        None,
        validator=NonEmptyString(),
        doc="The topic that gets a record for each ACTIVATE_VERSION of the tap: rows of other versions are gone.",
    )
    .define(
        TOMBSTONES,
        Type.BOOLEAN,
        "false",
        doc="Write a tombstone for each row that an ACTIVATE_VERSION of the tap makes void. Records get headers with "
        "their row; the topic of a stream is read once after each start of its task.",
    )
    .define(
        CATALOG_OPTION,
        Type.STRING,
        "--catalog",
        importance=Importance.LOW,
        # Any other option could have the tap do anything with the file.
        validator=ValidString("--catalog", "--properties"),
        doc="The tap's option for its catalog; older taps have --properties.",
    )
    .define(
        DISCOVERY_TIMEOUT,
        Type.LONG,
        "60000",
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(1)),
        doc="The longest time of a discovery, in ms.",
    )
)


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """The parsed properties, and what is made of them without touching the machine."""

    values: Mapping[str, Any]
    catalog: Catalog | None
    """The user's catalog; None if it is discovered, or if there is none at all."""
    has_catalog: bool
    metadata: Mapping[str, Mapping[str, Any]]
    topics: Topics
    choices: TypeChoices

    @classmethod
    def parse(cls, props: Mapping[str, str]) -> SourceConfig:
        """Raise ConfigError for the first property that is not valid."""
        values = CONFIG_DEF.parse(props)
        text = values[CATALOG] or None
        choices = TypeChoices(values[TIMESTAMPS] == "logical", values[DECIMALS] == "decimal")
        catalog = None if text in (None, NO_CATALOG) else _catalog(str(text))
        if text == NO_CATALOG and values[APART]:
            raise ConfigError.invalid(APART, True, f"{CATALOG}={NO_CATALOG}: the tap cannot read streams apart")
        topics = Topics(values[TOPIC_PREFIX] or "", _named_topics(values[TOPICS] or []))
        return cls(values, catalog, text != NO_CATALOG, _metadata(values[METADATA] or "{}"), topics, choices)

    def check_machine(self) -> None:
        """Raise ConfigError if the command or the tap's configuration is not on this machine."""
        command_of(self.values, TAP)
        config_text(self.values[CONFIG])


def _catalog(text: str) -> Catalog:
    try:
        return parse_catalog(text if text.startswith("{") else read_file(text))
    except OSError as error:
        raise ConfigError.invalid(CATALOG, text, f"the file cannot be read: {error.strerror}") from error
    except DataError as error:
        raise ConfigError.invalid(CATALOG, text[:100], str(error)) from error


def _named_topics(pairs: list[str]) -> dict[str, str]:
    named = {}
    for pair in pairs:
        stream, colon, topic = pair.rpartition(":")
        if not (stream and colon and topic):
            raise ConfigError.invalid(TOPICS, pairs, f"'{pair}' is not of the form stream:topic")
        named[stream] = topic
    return named


def _metadata(text: str) -> dict[str, dict[str, Any]]:
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise ConfigError.invalid(METADATA, text, f"it is no JSON: {error}") from error
    if not isinstance(metadata, dict) or not all(isinstance(each, dict) for each in metadata.values()):
        raise ConfigError.invalid(METADATA, text, "it is no JSON object of objects by pattern")
    return metadata
