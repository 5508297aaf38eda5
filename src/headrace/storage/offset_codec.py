# SPDX-License-Identifier: Apache-2.0
"""Source partitions and offsets as bytes, exactly as Java Connect writes them with its internal JsonConverter.

Java: ``OffsetStorageWriter``, ``OffsetUtils``. Keys are ``["connector",{partition}]`` and are compared as bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from headrace.api.errors import DataError
from headrace.storage import json_bytes

log = logging.getLogger(__name__)
_PRIMITIVES = (bool, int, float, str, bytes, bytearray)


def encode_key(connector: str, partition: Mapping[str, Any]) -> bytes:
    """Return the key of a source partition's offset records. Raise DataError if it holds what JSON cannot."""
    return json_bytes.dumps([connector, partition])


def encode_partition(partition: Mapping[str, Any]) -> bytes:
    """Return a source partition alone, as it stands within its key."""
    return json_bytes.dumps(partition)


def encode_offset(offset: Mapping[str, Any] | None) -> bytes | None:
    """Return an offset record's value; None is a tombstone, which resets the partition."""
    return None if offset is None else json_bytes.dumps(offset)


def migration_record(connector: str) -> tuple[bytes, bytes]:
    """Return key and value of the record that marks a connector's own offsets topic as migrated without offsets.

    KIP-618's older text has it: the offsets were looked for elsewhere, and there were none. Readers of offsets pass
    over it.
    """
    return json_bytes.dumps([connector]), json_bytes.dumps({"migrated": True})


def decode_key(key: bytes | None) -> tuple[str, dict[str, Any]] | None:
    """Return the connector and source partition of a key; None, with a warning, for keys of another format."""
    try:
        parsed = json_bytes.loads(key) if key is not None else None
    except DataError:
        parsed = None
    match parsed:
        case [str() as connector, dict() as partition]:
            return connector, partition
        case [str()]:
            return None
    log.warning("The offsets topic's key %.200r is not one of a source connector and is skipped", key)
    return None


def decode_offset(value: bytes | None) -> dict[str, Any] | None:
    """Return an offset record's value; None for a tombstone.

    Raise DataError for an invalid offset: a start without an offset would lose or repeat records.
    """
    if value is None:
        return None
    offset = json_bytes.loads(value)
    if offset is None or isinstance(offset, dict):
        return offset
    raise DataError(f"A source offset must be a JSON object, not {value!r:.200}")


def validate_format(value: object) -> None:
    """Raise DataError unless ``value`` is None or maps text to primitive values, as partitions and offsets must."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise DataError(f"Offsets must be given as an object, not as {type(value).__name__}")
    for name, member in value.items():
        if not isinstance(name, str):
            raise DataError(f"Offsets may only have text as keys, but {name!r} is a {type(name).__name__}")
        if member is not None and not isinstance(member, _PRIMITIVES):
            raise DataError(
                f"Offsets may only hold numbers, text, true, false and null, but field {name} holds a "
                f"{type(member).__name__}"
            )
