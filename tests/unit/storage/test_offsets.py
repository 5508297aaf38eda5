# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import ConnectError, DataError
from headrace.storage import json_bytes, offset_codec
from headrace.storage.offset_backing_store import ConnectorOffsetBackingStore, OffsetTable, all_of
from headrace.storage.offset_storage_reader import StoreOffsetStorageReader


def test_fold_equals_java_for_every_vector(vectors: Callable[..., Any], log_bytes: Callable[..., Any]) -> None:
    for vector in vectors("internal_replay", "replayOffsets"):
        table = OffsetTable()
        for record in vector["input"]["records"]:
            key = record["rawKey"].encode() if "rawKey" in record else log_bytes(record["key"])
            value = record["raw"].encode() if "raw" in record else log_bytes(record["value"])
            table.apply(key, value)
        data = {key.decode() if key else "<null>": value.decode() for key, value in table.values.items()}
        assert data == vector["output"]["data"], vector["id"]
        for connector, partitions in vector["output"]["partitions"].items():
            found = [json_bytes.loads(partition) for partition in table.partitions_of(connector)]
            assert sorted(map(repr, map(_sorted, found))) == sorted(map(repr, map(_sorted, partitions))), vector["id"]


def _sorted(value: Any) -> Any:
    return {k: _sorted(value[k]) for k in sorted(value)} if isinstance(value, dict) else value


def test_offset_formats(vectors: Callable[..., Any]) -> None:
    for vector in vectors("internal_replay", "validateOffsetFormat"):
        value = vector["input"]["value"]
        if isinstance(value, dict):
            value = {k: _untagged(v) for k, v in value.items()}
        if "error" in vector:
            with pytest.raises(DataError):
                offset_codec.validate_format(value)
        else:
            offset_codec.validate_format(value)


def _untagged(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        [(tag, inner)] = value.items()
        if tag in ("$int8", "$int32"):
            return inner
    return value


def test_key_order_and_spacing_are_the_connectors() -> None:
    assert offset_codec.encode_key("c", {"b": 1, "a": "é"}) == '["c",{"b":1,"a":"é"}]'.encode()


@pytest.mark.parametrize("value", [b"zz", b"[1]", b"5"])
def test_an_offset_that_cannot_be_read_is_an_error(value: bytes) -> None:
    with pytest.raises(DataError):
        offset_codec.decode_offset(value)


class FakeStore:
    """A store in memory that can be made to fail."""

    def __init__(self, data: Mapping[bytes, bytes | None], writes: list[tuple[str, bytes]], name: str) -> None:
        self.data = dict(data)
        self.writes = writes
        self.name = name
        self.error: ConnectError | None = None

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        table = OffsetTable()
        for key, value in self.data.items():
            table.apply(key, value)
        return self._done(table.offsets_of(connector))

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        return self._done({key: self.data.get(key) for key in keys})

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        if self.error is None:
            self.writes.extend((self.name, key) for key in records)
        return self._done(None)

    def waiting_for(self) -> str | None:
        return None

    def _done(self, value: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(value)
        return future


X, Y, Z = (offset_codec.encode_key("c", {"file": name}) for name in "xyz")


@pytest.fixture
def writes() -> list[tuple[str, bytes]]:
    return []


@pytest.fixture
def own(writes: list[tuple[str, bytes]]) -> FakeStore:
    return FakeStore({X: b'{"pos":2}'}, writes, "own")


@pytest.fixture
def common(writes: list[tuple[str, bytes]]) -> FakeStore:
    return FakeStore({X: b'{"pos":1}', Y: b'{"pos":9}'}, writes, "common")


def test_the_connectors_own_topic_comes_first(own: FakeStore, common: FakeStore) -> None:
    store = ConnectorOffsetBackingStore(own, common)
    assert store.get([X, Y, Z]).result(1) == {X: b'{"pos":2}', Y: b'{"pos":9}', Z: None}
    assert store.offsets_of("c").result(1) == {b'{"file":"x"}': {"pos": 2}, b'{"file":"y"}': {"pos": 9}}
    reader = StoreOffsetStorageReader("c", store)
    assert reader.offsets([{"file": "z"}, {"file": "x"}]) == [None, {"pos": 2}]


def test_tombstones_go_to_the_common_topic_first(
    own: FakeStore, common: FakeStore, writes: list[tuple[str, bytes]]
) -> None:
    ConnectorOffsetBackingStore(own, common).set({X: None, Z: b'{"pos":3}'}).result(1)
    assert writes == [("common", X), ("own", X), ("own", Z)]


def test_nothing_goes_to_the_own_topic_when_the_common_one_fails(
    own: FakeStore, common: FakeStore, writes: list[tuple[str, bytes]]
) -> None:
    common.error = ConnectError("away")
    with pytest.raises(ConnectError, match="away"):
        ConnectorOffsetBackingStore(own, common).set({X: None}).result(1)
    assert writes == []


def test_a_failing_topic_fails_the_read(own: FakeStore, common: FakeStore) -> None:
    common.error = ConnectError("away")
    with pytest.raises(ConnectError, match="away"):
        ConnectorOffsetBackingStore(own, common).get([X]).result(1)


def test_all_of_nothing_ends_at_once() -> None:
    assert all_of([]).done()


def test_all_of_waits_for_the_last() -> None:
    parts: list[Future[None]] = [Future(), Future()]
    whole = all_of(parts)
    parts[0].set_exception(ConnectError("first"))
    assert not whole.done()
    parts[1].set_result(None)
    with pytest.raises(ConnectError, match="first"):
        whole.result(0)
