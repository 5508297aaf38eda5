# SPDX-License-Identifier: Apache-2.0
"""A source connector's offsets, in its own offsets topic and the worker's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.connector import Connector
from headrace.api.errors import DataError
from headrace.api.sink import OffsetJobs
from headrace.api.source import SourceConnector
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorOffset
from headrace.storage.json_bytes import dumps, loads
from headrace.storage.offset_codec import encode_key, encode_offset, validate_format
from headrace.worker.offsets.offset_stores import OffsetStores

Fields = Mapping[str, Any]
_LONG: Final = range(-(2**63), 2**63)


class SourceOffsets:
    """``headrace.worker.offsets.connector_offsets.Offsets`` of a source connector.

    Partitions with the same fields are one, in whatever order. In the topic they are not, for keys are compared as
    bytes: an offset for one is written under all its keys, and so under the one that its task reads.
    """

    def __init__(self, config: Config, stores: OffsetStores) -> None:
        self._config = config
        self._stores = stores

    def read(self) -> tuple[ConnectorOffset, ...]:
        return tuple({_sorted(each.partition): each for each in self._stores.offsets(self._config)}.values())

    def bounds(self) -> None:
        """Return None: only the connector itself could know them."""

    def normalize(
        self, requested: Sequence[ConnectorOffset], known: Sequence[ConnectorOffset]
    ) -> tuple[ConnectorOffset, ...]:
        """Return the offsets as a connector would get them: through JSON, partitions in the stored order of fields.

        The order counts in the topic, and a user need not know it. Of a partition that comes twice the last one holds.
        """
        stored = {_sorted(each.partition): each.partition for each in known}
        chosen: dict[bytes, ConnectorOffset] = {}
        for each in requested:
            partition, offset = _through_json(each.partition), _through_json(each.offset)
            if partition is None:
                raise DataError("The partition of a source offset must be an object, not null")
            key = _sorted(partition)
            chosen[key] = ConnectorOffset(stored.get(key, partition), offset)
        return tuple(chosen.values())

    def call_alter_offsets(self, connector: Connector, wanted: Sequence[ConnectorOffset]) -> bool:
        assert isinstance(connector, SourceConnector)
        pairs = [(dict(each.partition), None if each.offset is None else dict(each.offset)) for each in wanted]
        config = {key: text for key, text in self._config.items() if text is not None}
        return bool(connector.alter_offsets(config, pairs))

    def alter_jobs(self, connector: Connector, wanted: Sequence[ConnectorOffset] | None) -> OffsetJobs | None:
        return None

    def write(self, wanted: Sequence[ConnectorOffset]) -> None:
        name = str(self._config["name"])
        records = {encode_key(name, each.partition): encode_offset(each.offset) for each in wanted}
        offsets = {_sorted(each.partition): each.offset for each in wanted}
        for each in self._stores.offsets(self._config):
            if (fields := _sorted(each.partition)) in offsets:
                records[encode_key(name, each.partition)] = encode_offset(offsets[fields])
        self._stores.alter(self._config, records)

    def reset(self, known: Sequence[ConnectorOffset]) -> None:
        self.write([ConnectorOffset(each.partition, None) for each in known])


def _through_json(fields: Fields | None) -> dict[str, Any] | None:
    validate_format(fields)
    if fields is None:
        return None
    for name, value in fields.items():
        if isinstance(value, int) and value not in _LONG:
            # Java reads such a number from the topic as another one.
            raise DataError(f"Offsets may only hold whole numbers of up to 64 bits, but field {name} holds {value}")
    read: dict[str, Any] = loads(dumps(fields))
    return read


def _sorted(partition: Fields) -> bytes:
    return dumps(dict(sorted(partition.items())))
