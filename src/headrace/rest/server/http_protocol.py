# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as strictly as RFC 9112 lets a server read it: ambiguous requests are refused.

If a proxy and the worker disagree about the end of a request, an attacker can put a request of their own in front of
another user's (request smuggling). h11 accepts bare line feeds and folded lines, and prefers chunks where a length is
given too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import h11

from headrace.rest.access.certificates import CertificateProtocol
from headrace.rest.exception_mapper import error_response
from headrace.rest.server.connection_limits import Connection, ConnectionLimits

_HEAD_BYTES: Final = 16 * 1024
_REASON_CHARACTERS: Final = 200
_AMBIGUITIES: Final = (
    (re.compile(rb"(?<!\r)\n"), "a line ends in LF without CR"),
    (re.compile(rb"\n[ \t]"), "a header continues in a second line"),
    (re.compile(rb"\ncontent-length:.*\ncontent-length:", re.IGNORECASE | re.DOTALL), "it has two Content-Length"),
    (re.compile(rb"\ncontent-length:[^\n]*,", re.IGNORECASE), "its Content-Length is a list"),
)
_END: Final = b"\r\n\r\n"

_Phase = Callable[[ConnectionLimits, Connection], None]
_HEAD: Final[_Phase] = ConnectionLimits.await_head
_TRANSFER: Final[_Phase] = ConnectionLimits.await_transfer
_IDLE: Final[_Phase] = ConnectionLimits.mark_idle
_BUSY: Final[_Phase] = ConnectionLimits.mark_busy
"""The phases of a connection, each as the call that reports it to the limits."""


class StrictConnection(h11.Connection):
    """A server's side of a connection that raises RemoteProtocolError for ambiguities that h11 accepts."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, _HEAD_BYTES)
        self._recent = b""
        """The latest data and the four bytes before it, to check the end of a chunked body."""
        self._chunked = False
        self.refused = ""
        """The reason why a request was refused."""

    def receive_data(self, data: bytes) -> None:
        waiting = self.their_state is h11.DONE  # the data is read only after the current request
        self._recent = (self._recent if waiting else self._recent[-len(_END) :]) + data
        super().receive_data(data)

    def next_event(self) -> Any:
        try:
            return self._next()
        except h11.RemoteProtocolError as error:
            self.refused = str(error)[:_REASON_CHARACTERS]
            raise

    def _next(self) -> Any:
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            _check_head(before[: len(before) - len(self.trailing_data[0])])
            _check_framing(event)
            self._chunked = b"transfer-encoding" in dict(event.headers)
        elif isinstance(event, h11.EndOfMessage) and self._chunked:
            self._check_end(event)
        return event

    def _check_end(self, event: h11.EndOfMessage) -> None:
        end = len(self._recent) - len(self.trailing_data[0])
        if list(event.headers) or self._recent[max(0, end - len(_END)) : end] != _END:
            raise h11.RemoteProtocolError("the body's last chunk is followed by more than an empty line")


def _check_head(head: bytes) -> None:
    for pattern, reason in _AMBIGUITIES:
        if pattern.search(head):
            raise h11.RemoteProtocolError(reason)


def _check_framing(request: h11.Request) -> None:
    if not request.http_version.startswith(b"1."):
        raise h11.RemoteProtocolError("it is none of HTTP/1.1")
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" not in names:
        return
    if b"content-length" in names:
        raise h11.RemoteProtocolError("it has both Content-Length and Transfer-Encoding")
    if request.http_version < b"1.1":
        raise h11.RemoteProtocolError("HTTP/1.0 has no Transfer-Encoding")


class HttpProtocol(CertificateProtocol):
    """uvicorn's protocol over a strict connection, which reports its phases to the connection limits."""

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: StrictConnection = StrictConnection()
        self._limits = limits
        self._connection: Connection | None = None
        self._phase = _HEAD
        self._writing_paused = False
        """True while the client does not read an answer."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._connection = self._limits.find(transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._report_phase()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._report_phase()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing_paused = True
        self._report_phase()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._writing_paused = False
        self._report_phase()

    def send_400_response(self, msg: str) -> None:
        """Answer in the shape of all errors, and close: the start of a next request is unknown."""
        response = error_response(400, f"{msg} {self.conn.refused}".strip(), {"Connection": "close"})
        with suppress(h11.LocalProtocolError):  # an answer has begun already
            head = h11.Response(status_code=400, headers=response.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _report_phase(self) -> None:
        phase = self._current_phase()
        if phase is not self._phase and self._connection is not None:
            self._phase = phase
            phase(self._limits, self._connection)

    def _current_phase(self) -> _Phase:
        if self._writing_paused or self.transport.is_closing() or self.conn.their_state is h11.SEND_BODY:
            return _TRANSFER
        if self.conn.their_state is h11.IDLE:
            return _HEAD if self.conn.trailing_data[0] else _IDLE
        return _BUSY
