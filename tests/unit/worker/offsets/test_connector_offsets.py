# SPDX-License-Identifier: Apache-2.0
"""Changes of source offsets without exactly-once, in a store in memory; the rest needs brokers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.config.distributed_config import DistributedConfig
from headrace.model.futures import done_future
from headrace.model.info import ConnectorOffset, OffsetDifference, OffsetsChange
from headrace.plugins.discovery import Plugins
from headrace.worker.worker import Worker

FILE = {"name": "c", "connector.class": "FileStreamSource", "file": "f", "topic": "t"}
WAIT = 10
Change = Callable[..., Any]


class StoreInMemory:
    """An ``OffsetBackingStore``; ``loses`` makes it one in which another process writes last."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.writes: list[Mapping[bytes, bytes | None]] = []
        self.loses = False

    def offsets_of(self, connector: str) -> Future[dict[bytes, dict[str, Any]]]:
        prefix = f'["{connector}",'.encode()
        found = {key[len(prefix) : -1]: json.loads(text) for key, text in self.stored.items() if key.startswith(prefix)}
        return done_future(found)

    def get(self, keys: Sequence[bytes]) -> Future[dict[bytes, bytes | None]]:
        return done_future({key: b"{}" if self.loses else self.stored.get(key) for key in keys})

    def set(self, records: Mapping[bytes, bytes | None]) -> Future[None]:
        self.writes.append(records)
        for key, value in records.items():
            if value is None:
                self.stored.pop(key, None)
            else:
                self.stored[key] = value
        return done_future(None)

    def waiting_for(self) -> str | None:
        return None


@pytest.fixture
def store() -> StoreInMemory:
    return StoreInMemory()


@pytest.fixture
def plain(worker_props: dict[str, str], launcher: Any, status: Any, store: StoreInMemory) -> Iterator[Worker]:
    """A worker without exactly-once over the store."""
    worker = Worker(
        DistributedConfig(worker_props | {"exactly.once.source.enabled": "false"}), Plugins(), launcher, store, status
    )
    yield worker
    worker.stop(2)


@pytest.fixture
def change(plain: Worker) -> Change:
    """Alters, or without pairs resets, the offsets of the connector with that configuration."""

    def change(config: Mapping[str, str], *pairs: tuple[Any, Any], dry_run: bool = False) -> Any:
        offsets = tuple(ConnectorOffset(*pair) for pair in pairs) or None
        return plain.change_offsets(config["name"], config, OffsetsChange(offsets, dry_run)).result(WAIT)

    return change


def source(source_config: Callable[..., Mapping[str, str]], **more: str) -> Mapping[str, str]:
    return {**source_config("c", **more), "connector.class": "tests.unit.worker.support_connectors:AlteredSource"}


def test_written_deleted_and_left_alone(change: Change, store: StoreInMemory) -> None:
    done = change(FILE, ({"filename": "f"}, {"position": 5}), ({"filename": "g"}, {"position": 6}))
    assert done.message == "The offsets for this connector have been altered successfully"
    assert store.stored == {b'["c",{"filename":"f"}]': b'{"position":5}', b'["c",{"filename":"g"}]': b'{"position":6}'}
    done = change(FILE, ({"filename": "f"}, None), ({"filename": "g"}, {"position": 6}))
    assert done.differences == (OffsetDifference({"filename": "f"}, {"position": 5}, None),)
    assert store.stored == {b'["c",{"filename":"g"}]': b'{"position":6}'}
    # Once more, and of partitions that there are not: nothing to it.
    assert change(FILE, ({"filename": "f"}, None), ({"filename": "x"}, None)).differences == ()


def test_reset_twice(change: Change, store: StoreInMemory) -> None:
    store.stored[b'["other",{"filename":"f"}]'] = b'{"position":1}'
    change(FILE, ({"filename": "f"}, {"position": 5}))
    done = change(FILE)
    assert done.message == "The offsets for this connector have been reset successfully"
    assert done.differences == (OffsetDifference({"filename": "f"}, {"position": 5}, None),)
    assert change(FILE).differences == ()
    assert store.stored == {b'["other",{"filename":"f"}]': b'{"position":1}'}


def test_a_dry_run_writes_nothing_and_asks_no_connector(
    change: Change, store: StoreInMemory, source_config: Callable[..., Mapping[str, str]]
) -> None:
    config = source(source_config, fail="yes")
    done = change(config, ({"a": 1}, {"b": 2}), dry_run=True)
    assert done.differences == (OffsetDifference({"a": 1}, None, {"b": 2}),)
    assert change(config, dry_run=True).differences == ()
    assert not store.writes


def test_fields_of_a_partition_in_any_order(
    change: Change, store: StoreInMemory, source_config: Callable[..., Mapping[str, str]]
) -> None:
    """Keys are compared as bytes, in the connector's order, which a user cannot know."""
    store.stored[b'["c",{"server":"s","table":"t"}]'] = b'{"n":1}'
    done = change(source(source_config), ({"table": "t", "server": "s"}, {"n": 2}))
    assert store.stored == {b'["c",{"server":"s","table":"t"}]': b'{"n":2}'}
    assert done.differences == (OffsetDifference({"server": "s", "table": "t"}, {"n": 1}, {"n": 2}),)


def test_a_partition_that_is_stored_under_several_keys_is_one(
    change: Change, plain: Worker, store: StoreInMemory, source_config: Callable[..., Mapping[str, str]]
) -> None:
    """As when a connector's new version has its fields in another order: whichever it reads, it reads what was set."""
    config, keys = source(source_config), (b'["c",{"server":"s","table":"t"}]', b'["c",{"table":"t","server":"s"}]')
    store.stored = {keys[0]: b'{"n":1}', keys[1]: b'{"n":5}', b'["c",{"server":"s"}]': b'{"n":7}'}
    shown = plain.connector_offsets("c", config).result(WAIT)
    one = {"table": "t", "server": "s"}
    assert [each.partition for each in shown] == [one, {"server": "s"}]
    done = change(config, ({"table": "t", "server": "s"}, {"n": 2}))
    assert done.differences == (OffsetDifference(one, {"n": 5}, {"n": 2}),)
    assert store.stored == {keys[0]: b'{"n":2}', keys[1]: b'{"n":2}', b'["c",{"server":"s"}]': b'{"n":7}'}
    assert len(change(config).differences) == 2
    assert store.stored == {}


def test_of_a_partition_that_comes_twice_the_last_one_counts(
    change: Change, store: StoreInMemory, source_config: Callable[..., Mapping[str, str]]
) -> None:
    change(source(source_config), ({"a": 1, "b": 2}, {"n": 1}), ({"b": 2, "a": 1}, {"n": 2}))
    assert list(store.stored.values()) == [b'{"n":2}']


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**30])
def test_numbers_beyond_64_bits(
    change: Change, store: StoreInMemory, source_config: Callable[..., Mapping[str, str]], number: int
) -> None:
    for pair in (({"a": number}, {"n": 1}), ({"a": 1}, {"n": number})):
        for dry_run in (True, False):
            with pytest.raises(DataError, match=str(number)):
                change(source(source_config), pair, dry_run=dry_run)
    assert not store.writes
    change(source(source_config), ({"a": 2**63 - 1}, {"n": -(2**63), "f": 1e30}))
    assert store.stored == {b'["c",{"a":9223372036854775807}]': b'{"n":-9223372036854775808,"f":1.0E30}'}


def test_the_connector_is_asked_with_what_will_be_stored(
    change: Change, source_config: Callable[..., Mapping[str, str]]
) -> None:
    from tests.unit.worker.support_connectors import ALTERED

    change(source(source_config), ({"f": 1.0, "big": 2**60}, {"bytes": "x"}), ({"f": 2}, None))
    assert ALTERED["c"] == [({"f": 1.0, "big": 2**60}, {"bytes": "x"}), ({"f": 2}, None)]


def test_a_connector_that_says_nothing_may_have_offsets_elsewhere(
    change: Change, source_config: Callable[..., Mapping[str, str]]
) -> None:
    silent = source_config("c")
    assert change(silent, ({"a": 1}, {"b": 2})).message == (
        "The Connect framework-managed offsets for this connector have been altered successfully. However, if this "
        "connector manages offsets externally, they will need to be manually altered in the system that the connector "
        "uses."
    )
    assert "have been reset successfully. However" in change(silent).message


@pytest.mark.parametrize(
    ("fail", "error", "text"),
    [
        ("connect", DataError, "Connector c refuses the offsets: no"),
        ("value", DataError, "Connector c refuses the offsets: no"),
        ("unsupported", DataError, "does not support"),
        ("retriable", RetriableError, "later"),
        ("other", ConnectError, "alter_offsets of connector c failed: OSError: no"),
    ],
)
def test_what_a_connector_refuses_is_not_written(
    change: Change,
    store: StoreInMemory,
    source_config: Callable[..., Mapping[str, str]],
    fail: str,
    error: type[Exception],
    text: str,
) -> None:
    with pytest.raises(error, match=text):
        change(source(source_config, fail=fail), ({"a": 1}, {"b": 2}))
    assert not store.writes


@pytest.mark.parametrize("position", ["7", -1, None, 1.5, True])
def test_file_positions_that_make_no_sense(change: Change, store: StoreInMemory, position: Any) -> None:
    with pytest.raises(DataError, match="position"):
        change(FILE, ({"filename": "f"}, {"position": position}))
    assert not store.writes


@pytest.mark.parametrize("seqno", ["7", None, 1.5, True, -1])
def test_sequence_numbers_that_make_no_sense(change: Change, store: StoreInMemory, seqno: Any) -> None:
    config = {"name": "c", "connector.class": "VerifiableSource", "topic": "t"}
    with pytest.raises(DataError, match="seqno"):
        change(config, ({"id": 0}, {"seqno": seqno}))
    with pytest.raises(DataError, match="'id'"):
        change(config, ({"number": 0}, {"seqno": 3}))
    assert not store.writes
    assert "altered successfully" in change(config, ({"id": 0}, {"seqno": 3}), ({"x": 1}, None)).message


@pytest.mark.parametrize("offset", [{"a": {"b": 1}}, {"a": [1]}])
def test_nested_offsets(change: Change, offset: Any, source_config: Callable[..., Mapping[str, str]]) -> None:
    with pytest.raises(DataError, match="field a"):
        change(source(source_config), ({"p": 1}, offset))
    with pytest.raises(DataError, match="field a"):
        change(source(source_config), (offset, {"p": 1}))


def test_a_concurrent_change_of_offsets_is_detected(change: Change, store: StoreInMemory) -> None:
    store.loses = True
    with pytest.raises(RetriableError, match="Another process writes offsets"):
        change(FILE, ({"filename": "f"}, {"position": 5}))


def test_an_unknown_class(change: Change) -> None:
    with pytest.raises(ConfigError, match="Nothing"):
        change({"name": "c", "connector.class": "Nothing"})
