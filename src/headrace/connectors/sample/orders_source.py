# SPDX-License-Identifier: Apache-2.0
"""OrdersSource: generated orders of a shop, numbered from 1, to try headrace out."""

from __future__ import annotations

import datetime
import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from headrace import __version__
from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.connector import Task
from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.api.source import ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.api.validators import Nullable, Range, TopicName

TOPIC_CONFIG: Final = "topic"
THROUGHPUT_CONFIG: Final = "throughput"
NUM_ORDERS_CONFIG: Final = "num.orders"
ID_FIELD: Final = "id"

CONFIG_DEF: Final = (
    ConfigDef()
    .define(
        TOPIC_CONFIG,
        Type.STRING,
        importance=Importance.HIGH,
        validator=TopicName(),
        doc="The topic to publish the orders to.",
    )
    .define(
        THROUGHPUT_CONFIG,
        Type.INT,
        10,
        importance=Importance.MEDIUM,
        validator=Nullable(Range.at_least(1)),
        doc="Orders per second.",
    )
    .define(
        NUM_ORDERS_CONFIG,
        Type.LONG,
        None,
        importance=Importance.MEDIUM,
        validator=Nullable(Range.at_least(0)),
        doc="The number of orders after which no more follow; by default there is no end.",
    )
)

ORDER_SCHEMA: Final = (
    SchemaBuilder.struct()
    .name("order")
    .field(ID_FIELD, Schema.INT64)
    .field("customer", Schema.STRING)
    .field("item", Schema.STRING)
    .field("quantity", Schema.INT32)
    .field("price", SchemaBuilder.decimal(2).build())
    .field("time", SchemaBuilder.timestamp().build())
    .build()
)

SOURCE_PARTITION: Final = {"orders": "all"}
_CUSTOMERS: Final = ("Amara", "Bilal", "Chen", "Dilek", "Emil", "Fatou", "Goran", "Hanna", "Ines", "Jonas")
_CENTS: Final = {"bread": 320, "butter": 249, "cheese": 585, "coffee": 899, "honey": 640, "tea": 475}
_FIRST_TIME: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_SECONDS_APART: Final = 30
_POLL_SECONDS: Final = 0.25
_BATCH: Final = 1000
_LONGEST_LAG: Final = 1.0


def order(number: int) -> Struct:
    """Return the order with this number, which is the same each time."""
    chance = random.Random(number).random  # the only method whose sequence Python guarantees
    item = list(_CENTS)[int(chance() * len(_CENTS))]
    fields = {
        ID_FIELD: number,
        "customer": _CUSTOMERS[int(chance() * len(_CUSTOMERS))],
        "item": item,
        "quantity": 1 + int(chance() * 5),
        "price": Decimal(_CENTS[item]).scaleb(-2),
        "time": _FIRST_TIME + datetime.timedelta(seconds=number * _SECONDS_APART + int(chance() * _SECONDS_APART)),
    }
    return Struct(ORDER_SCHEMA, fields)


class OrdersSourceConnector(SourceConnector):
    """One task (not in Java)."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return OrdersSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        # Two tasks would generate the same orders.
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that the task cannot continue from. A reset (None) is allowed for any partition."""
        for partition, offset in offsets:
            if offset is not None:
                if partition != SOURCE_PARTITION:
                    raise ConnectError(f"The only source partition is {SOURCE_PARTITION}, not {partition}")
                _last_number(offset)
        return True


class OrdersSourceTask(SourceTask):
    """Orders without a gap; an order's number is its field `id` and its source offset."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        config = CONFIG_DEF.parse(props)
        self._topic: str = config[TOPIC_CONFIG]
        self._throughput: int = config[THROUGHPUT_CONFIG]
        self._end: int | None = config[NUM_ORDERS_CONFIG]
        self._last = _last_number(self.context.offset_storage_reader.offset(SOURCE_PARTITION))
        self._polled = time.monotonic()
        self._due = 1.0

    def poll(self) -> list[SourceRecord] | None:
        """Return the orders that have become due, a few times a second: each batch is a transaction."""
        if self._stopped.wait(_POLL_SECONDS):
            return None
        now = time.monotonic()
        # What was not polled in time, as during a pause, does not follow in a burst.
        self._due += min(now - self._polled, _LONGEST_LAG) * self._throughput
        self._polled = now
        count = min(int(self._due), _BATCH)
        self._due = min(self._due - count, 1.0 * self._throughput)
        if self._end is not None:
            count = min(count, self._end - self._last)
        return [self._next() for _ in range(count)] or None

    def stop(self) -> None:
        self._stopped.set()

    def _next(self) -> SourceRecord:
        self._last += 1
        value = order(self._last)
        key, offset = value.get("customer"), {ID_FIELD: self._last}
        return SourceRecord(SOURCE_PARTITION, offset, self._topic, None, Schema.STRING, key, ORDER_SCHEMA, value)


def _last_number(offset: Mapping[str, Any] | None) -> int:
    """Return the number of the last order; 0 before the first one."""
    if offset is None:
        return 0
    number = offset.get(ID_FIELD)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ConnectError(f"The value for the '{ID_FIELD}' key in the offset should be a number from 0 on: {offset}")
    return number
