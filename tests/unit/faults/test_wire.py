# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct

from faults.wire import Api, Request, correlation_of, request_of


def test_a_requests_header() -> None:
    header = struct.pack(">hhih", 26, 1, 77, 5) + b"taskx"
    assert request_of(header + b"body") == Request(Api.END_TXN, 77, "taskx")


def test_a_client_without_an_id() -> None:
    assert request_of(struct.pack(">hhih", 999, 0, 1, -1) + b"body") == Request(999, 1, "")


def test_an_answers_number() -> None:
    assert correlation_of(struct.pack(">i", 77) + b"body") == 77
