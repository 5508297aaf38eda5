# SPDX-License-Identifier: Apache-2.0
"""As much of Kafka's wire format as a proxy needs: who asks what, and which answer belongs to it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

_REQUEST = struct.Struct(">hhih")
_CORRELATION = struct.Struct(">i")


class Api(IntEnum):
    """The requests that faults are about."""

    PRODUCE = 0
    FETCH = 1
    METADATA = 3
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26


@dataclass(frozen=True, slots=True)
class Request:
    """A request's header; `api` may be one that `Api` does not name."""

    api: int
    correlation: int
    client: str


def request_of(frame: bytes) -> Request:
    """The header of a request, which is `frame` without its size. All versions of it begin alike."""
    api, _version, correlation, length = _REQUEST.unpack_from(frame)
    client = frame[_REQUEST.size : _REQUEST.size + max(length, 0)]
    return Request(api, correlation, client.decode(errors="replace"))


def correlation_of(frame: bytes) -> int:
    """The number of the request that a response, without its size, answers."""
    correlation: int = _CORRELATION.unpack_from(frame)[0]
    return correlation
