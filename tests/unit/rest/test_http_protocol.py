# SPDX-License-Identifier: Apache-2.0
"""Which requests a strict connection reads, however the bytes arrive."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.rest.server.http_protocol import StrictConnection

CHUNKED = b"POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
GOOD = (
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\n\nx",
    CHUNKED + b"0\r\n\r\n",
    CHUNKED + b"3;ext=1\r\n\n\n\n\r\n0\r\n\r\n",
    CHUNKED + b"1\r\n\r\r\n2\r\n\r\n\r\n0\r\n\r\n",
)
BAD = {
    b"GET / HTTP/1.1\r\nHost: x\n\r\n": "LF without CR",
    b"GET / HTTP/1.1\nHost: x\r\n\r\n": "LF without CR",
    b"GET / HTTP/1.1\r\nHost: x\r\nX: 1\r\n 2\r\n\r\n": "second line",
    b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX: 1\r\ncontent-length: 0\r\n\r\n": "two Content-Length",
    b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0,0\r\n\r\n": "list",
    CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n") + b"0\r\n\r\n": "both",
    CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n": "HTTP/1.0",
    b"GET / HTTP/2.0\r\nHost: x\r\n\r\n": "none of HTTP/1.1",
    CHUNKED + b"0\r\n\n": "last chunk",
    CHUNKED + b"0\r\nX: 1\r\n\r\n": "last chunk",
    CHUNKED + b"0\r\nX: 1\n\n": "last chunk",
}


def served(connection: StrictConnection) -> int:
    """Answer all that is there to be answered; how many requests."""
    count = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            return count
        if isinstance(event, h11.EndOfMessage):
            connection.send(h11.Response(status_code=204, headers=[]))
            connection.send(h11.EndOfMessage())
            connection.start_next_cycle()
            count += 1


@given(st.lists(st.sampled_from(GOOD), min_size=1, max_size=4), st.lists(st.integers(1, 40), min_size=1))
def test_requests_in_order_are_read_wherever_they_are_cut(requests: list[bytes], sizes: list[int]) -> None:
    connection, data, count = StrictConnection(), b"".join(requests), 0
    for at in range(len(data)):
        piece, data = data[: (size := sizes[at % len(sizes)])], data[size:]
        if piece:
            connection.receive_data(piece)
            count += served(connection)
    assert count == len(requests)


@pytest.mark.parametrize(("request_", "why"), BAD.items(), ids=range(len(BAD)))
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_ambiguous_requests_are_refused_wherever_they_are_cut(request_: bytes, why: str, size: int) -> None:
    connection = StrictConnection()
    data = b"".join(GOOD) + request_
    with pytest.raises(h11.RemoteProtocolError):
        for start in range(0, len(data), size):
            connection.receive_data(data[start : start + size])
            served(connection)
    assert why in connection.refused


def test_what_comes_while_a_request_is_worked_on_is_read_as_strictly() -> None:
    connection = StrictConnection()
    connection.receive_data(GOOD[0])
    while not isinstance(connection.next_event(), h11.EndOfMessage):
        pass
    for piece in (CHUNKED, b"0\r\n\r\n", CHUNKED + b"0\r\n\n"):
        connection.receive_data(piece)
    connection.send(h11.Response(status_code=204, headers=[]))
    connection.send(h11.EndOfMessage())
    connection.start_next_cycle()
    with pytest.raises(h11.RemoteProtocolError):
        served(connection)
