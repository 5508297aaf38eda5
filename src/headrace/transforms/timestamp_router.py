# SPDX-License-Identifier: Apache-2.0
"""Rename topics by the record's timestamp (Java: `org.apache.kafka.connect.transforms.TimestampRouter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.data_column import DataColumn
from headrace.api.errors import DataError
from headrace.api.transform import R, Transformation
from headrace.transforms._common import Remembered
from headrace.transforms._java_date_format import JavaDateFormat

TOPIC_FORMAT: Final = "topic.format"
TIMESTAMP_FORMAT: Final = "timestamp.format"
_REMEMBERED: Final = 1000


class TimestampRouter(Transformation[R]):
    """A transformation that renames the topic of every record. Raises DataError for a record without a timestamp.

    A wrong `timestamp.format` is a DataError of the first record, as in Java.
    """

    columnwise: ClassVar[bool] = True

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        config = _CONFIG.parse(configs)
        self._topic_format: str = config[TOPIC_FORMAT] or ""
        self._timestamp_format: str = config[TIMESTAMP_FORMAT] or ""
        self._format: JavaDateFormat | None = None
        self._step = 1
        self._routes = Remembered(self._route, _REMEMBERED)

    def apply(self, record: R) -> R | None:
        timestamp = record.timestamp
        if timestamp is None:
            raise DataError(f"Timestamp missing on a record of topic {record.topic}; TimestampRouter needs one")
        if self._format is None:
            self._format = self._compiled()
            self._step = self._format.step
        return record.with_topic(self._routes[record.topic, _steps(timestamp, self._step)])

    def _route(self, topic_and_step: tuple[str | None, int]) -> str:
        """Return the topic's new name for the timestamps within a step of the format, all of which are shown alike."""
        topic, steps = topic_and_step
        if topic is None:
            raise DataError("TimestampRouter cannot rename the topic of a record that has none")
        assert self._format is not None
        shown = self._format.format(steps * self._step)
        # One after the other: a timestamp's placeholder may stand in the topic.
        return self._topic_format.replace("${topic}", topic).replace("${timestamp}", shown)

    def _compiled(self) -> JavaDateFormat:
        try:
            return JavaDateFormat(self._timestamp_format)
        except ValueError as error:
            raise DataError(f"TimestampRouter's {TIMESTAMP_FORMAT} is not one of SimpleDateFormat: {error}") from error


def _steps(timestamp: int | DataColumn, step: int) -> int:
    return timestamp.common_quotient(step) if isinstance(timestamp, DataColumn) else timestamp // step


_CONFIG: Final = (
    ConfigDef()
    .define(
        TOPIC_FORMAT,
        Type.STRING,
        "${topic}-${timestamp}",
        importance=Importance.HIGH,
        doc="The new name of the topic, with ${topic} and ${timestamp} for the old name and the record's timestamp.",
    )
    .define(
        TIMESTAMP_FORMAT,
        Type.STRING,
        "yyyyMMdd",
        importance=Importance.HIGH,
        doc="The format of the timestamp, in UTC: a pattern of java.text.SimpleDateFormat.",
    )
)
