# SPDX-License-Identifier: Apache-2.0
"""The file of a standalone worker's source offsets: its format, and its replacement as a whole.

It is JSON with one source partition per line, for people to read and, while no worker runs, to change:

    {"version":1,"offsets":[
    {"connector":"lines","partition":{"filename":"/tmp/lines.txt"},"offset":{"position":12}}
    ]}
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import DataError
from headrace.storage import json_bytes
from headrace.storage.offset_codec import decode_key, decode_offset, encode_key, encode_offset

_VERSION: Final = 1
_JAVA_SERIALIZED: Final = b"\xac\xed"
Offsets = dict[bytes, bytes]
"""Values by keys, both as an offsets topic has them (``offset_codec``)."""


def parse(data: bytes) -> Offsets:
    """Return the offsets in a file. Raise DataError, of one line, for an invalid or ambiguous file."""
    if data.startswith(_JAVA_SERIALIZED):
        raise DataError("it is in Java's binary format, which only Kafka Connect on Java reads; name another file")
    if not data.strip():
        return {}
    match json_bytes.loads(data):
        case {"version": 1, "offsets": list() as offsets}:
            json.loads(data, object_pairs_hook=_refuse_repetition)
            return _without_repetition(_record(number, item) for number, item in enumerate(offsets, 1))
        case {"version": int() as version} if version != _VERSION:
            raise DataError(f"it has version {version} of the format, and this headrace knows {_VERSION} only")
    raise DataError('it does not look like {"version":1,"offsets":[...]}')


def render(offsets: Mapping[bytes, bytes]) -> bytes:
    """Return the bytes of a file. Raise DataError for records that are no source offsets."""
    lines = b",\n".join(_line(key, value) for key, value in offsets.items())
    return b'{"version":%d,"offsets":[\n%s\n]}\n' % (_VERSION, lines)


def replace_file(path: Path, data: bytes) -> None:
    """Replace the file's content, which is whole at any time: the old one or the new one.

    The new content is on the disk before it gets the file's name, and the name before this returns. After an OSError it
    is the old file, or the new one with a name that a power failure may take back. What a crash leaves beside it is
    overwritten the next time; so one process at a time may do this.
    """
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, temporary)
    temporary.replace(path)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_repetition(members: list[tuple[str, Any]]) -> None:
    """Raise DataError for a repeated name: a parser would take the last value and drop the first unnoticed."""
    names: set[str] = set()
    for name, _ in members:
        if name in names:
            raise DataError(f"it has {name} twice in one object")
        names.add(name)


def _without_repetition(records: Iterable[tuple[bytes, bytes]]) -> Offsets:
    offsets: Offsets = {}
    for number, (key, value) in enumerate(records, 1):
        if key in offsets:
            raise DataError(f"offset {number} in it is of the same source partition as another")
        offsets[key] = value
    return offsets


def _record(number: int, item: Any) -> tuple[bytes, bytes]:
    match item:
        case {"connector": str() as connector, "partition": dict() as partition, "offset": dict() as offset}:
            value = encode_offset(offset)
            assert value is not None
            return encode_key(connector, partition), value
    raise DataError(f"offset {number} in it lacks a connector (text), a partition or an offset (objects)")


def _line(key: bytes, value: bytes) -> bytes:
    decoded, offset = decode_key(key), decode_offset(value)
    if decoded is None or offset is None:
        raise DataError(f"{key!r} is not the key of a source offset, or {value!r} is none")
    connector, partition = decoded
    return json_bytes.dumps({"connector": connector, "partition": partition, "offset": offset})
