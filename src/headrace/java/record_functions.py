# SPDX-License-Identifier: Apache-2.0
"""Functions of Java's records: transformations, conversions to bytes, and the columns that Python needs of a batch."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from headrace.java.arrays import python_numbers
from headrace.java.functions import (
    Handle,
    after,
    as_interface,
    as_object,
    as_test,
    constructor,
    identity,
    if_else,
    method,
    of_same,
)
from headrace.java.instances import HeldInstance
from headrace.java.jvm import java_class

_CONNECT: Final = "org.apache.kafka.connect"
RECORD: Final = f"{_CONNECT}.connector.ConnectRecord"
_OBJECT: Final = "java.lang.Object"


def transformation_function(transformation: HeldInstance, predicate: HeldInstance | None, negate: bool) -> Handle:
    """Return the function of a transformation, for the records that its predicate, or None, lets through."""
    apply = transformation.handle("apply", 1)
    if predicate is None:
        return apply
    test, unchanged = as_test(predicate.handle("test", 1)), identity(_OBJECT)
    return if_else(test, unchanged, apply) if negate else if_else(test, apply, unchanged)


def conversion_function(converter: HeldInstance, is_key: bool) -> Handle:
    """Return the function that makes the bytes of a record's key or value."""
    parts = ("keySchema", "key") if is_key else ("valueSchema", "value")
    return of_same(converter.handle("fromConnectData", 3), *(method(RECORD, name) for name in ("topic", *parts)))


def topics(records: Any) -> list[str]:
    """Return the topics of records: one for all, or one for each."""
    column = records.stream().map(_functions().topic)
    distinct = column.distinct().limit(2).toArray()
    if len(distinct) == 1:
        return [str(distinct[0])]
    return [str(topic) for topic in records.stream().map(_functions().topic).toArray()]


def kafka_partitions(records: Any) -> list[int | None] | None:
    """Return the partitions that records are to go to; None if none has one."""
    return _integers(records, _functions().partition, _functions().partition_value)


def timestamps(records: Any) -> list[int | None] | None:
    """Return the timestamps of records, in ms since the epoch; None if none has one."""
    return _integers(records, _functions().timestamp, _functions().timestamp_value)


def have_headers(records: Any) -> bool:
    """Return True if one of the records has a header."""
    return not bool(records.stream().allMatch(_functions().without_headers))


def distinct_headers(records: Any, most: int) -> tuple[list[tuple[str, Any]], list[int]] | None:
    """Return the different pairs of topic and headers, and for each record the place of its pair.

    None if there are more than ``most``.
    """
    topic_and_headers = _functions().topic_and_headers
    pairs = records.stream().map(topic_and_headers).distinct().limit(most + 1).toArray()
    if len(pairs) > most:
        return None
    places = java_class("java.util.HashMap")()
    for place, pair in enumerate(pairs):
        places.put(pair, java_class("java.lang.Integer")(place))
    place_of = after(method("java.util.Map", "get", _OBJECT).bindTo(places), method("java.lang.Integer", "intValue"))
    found = records.stream().map(topic_and_headers).mapToInt(as_interface("ToIntFunction", place_of)).toArray()
    return [(str(pair.getKey()), pair.getValue()) for pair in pairs], python_numbers("i", found)


def last_offsets(records: Any) -> list[tuple[Any, Any]]:
    """Return each source partition and its last source offset, in the order in which they were last seen.

    By one thread of the process at a time.
    """
    found = _functions().offsets
    try:
        records.forEach(_functions().put_offset)
        return [(entry.getKey(), entry.getValue()) for entry in found.entrySet().toArray()]
    finally:
        found.clear()


def _integers(records: Any, get: Any, get_value: Any) -> list[int | None] | None:
    nulls = records.stream().map(get).filter(_functions().null).count()
    if nulls == records.size():
        return None
    if nulls:
        return [None if each is None else int(each) for each in records.stream().map(get).toArray()]
    return python_numbers("q", records.stream().mapToLong(get_value).toArray())


@cache
def _functions() -> SimpleNamespace:
    """Return the functions of all batches, and the map of ``last_offsets``."""
    is_null = method("java.util.Objects", "isNull", _OBJECT)
    partition, timestamp = method(RECORD, "kafkaPartition"), method(RECORD, "timestamp")
    value = method("java.lang.Number", "longValue")
    # One map for all batches, so that Java compiles the function with it; in the order of access, which a put is too.
    offsets = java_class("java.util.LinkedHashMap")(16, 0.75, True)
    put = method("java.util.LinkedHashMap", "put", _OBJECT, _OBJECT).bindTo(offsets)
    position = [
        as_object(method(f"{_CONNECT}.source.SourceRecord", name)) for name in ("sourcePartition", "sourceOffset")
    ]
    pair = constructor("java.util.AbstractMap$SimpleImmutableEntry", _OBJECT, _OBJECT)
    without_headers = after(method(RECORD, "headers"), method(f"{_CONNECT}.header.Headers", "isEmpty"))
    return SimpleNamespace(
        null=as_interface("Predicate", is_null),
        partition=as_interface("Function", partition),
        partition_value=as_interface("ToLongFunction", after(partition, value)),
        offsets=offsets,
        put_offset=as_interface("Consumer", of_same(put, *position)),
        timestamp=as_interface("Function", timestamp),
        timestamp_value=as_interface("ToLongFunction", after(timestamp, value)),
        topic=as_interface("Function", method(RECORD, "topic")),
        topic_and_headers=as_interface("Function", of_same(pair, method(RECORD, "topic"), method(RECORD, "headers"))),
        without_headers=as_interface("Predicate", without_headers),
    )
