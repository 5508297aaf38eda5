# SPDX-License-Identifier: Apache-2.0
"""Awaiting of requests to the herder, and forwarding to the leader. Java: ``HerderRequestHandler``."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import Future
from typing import Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from headrace.api.errors import ConnectError
from headrace.herder.errors import NotLeaderError, RebalanceNeededError, RequestTimeoutError
from headrace.herder.herder import Herder
from headrace.rest.access.access import SECRETS
from headrace.rest.access.forwarded_user import Sign
from headrace.rest.exception_mapper import on_connect_error
from headrace.rest.internal_request_signature import HEADERS as SIGNATURE_HEADERS
from headrace.rest.raw_path import encoded, raw_path
from headrace.rest.rest_client import Call, RestClient

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS: Final = 90.0
"""Java: ``DEFAULT_REST_REQUEST_TIMEOUT_MS``."""

log = logging.getLogger(__name__)

FORWARD: Final = "forward"
_REQUEST_HEADERS: Final = ("Accept", "Authorization", "Content-Type", SECRETS, *SIGNATURE_HEADERS)
"""A signature does not cover the recipient, so it stays valid."""
_ANSWER_HEADERS: Final = ("Content-Type", "Location", "Retry-After", "WWW-Authenticate")
_MARGIN_SECONDS: Final = 5.0


class RequestHandler:
    """An awaiter of the herder's futures, with a timeout. Used on the server's event loop only."""

    def __init__(self, herder: Herder, timeout: float = REQUEST_TIMEOUT_SECONDS) -> None:
        self._herder = herder
        self._timeout = timeout

    async def complete(self, request: Future[T]) -> T:
        """Return the future's result or raise its error; a RequestTimeoutError names the herder's current stage.

        The request itself continues after a timeout: it may be done in part and cannot be taken back.
        """
        waiting = asyncio.wrap_future(request)
        started = time.monotonic()
        # Not wait_for: it would cancel the herder's future, which the herder still has to complete.
        while not waiting.done() and (left := started + self._timeout - time.monotonic()) > 0:
            self._check_alive(waiting)
            await asyncio.wait({waiting}, timeout=min(left, 1.0))
        if waiting.done():
            return waiting.result()
        _ignore_result(waiting)
        raise RequestTimeoutError(f"Request timed out after {self._timeout:g} s. The worker is {self._herder.stage()}")

    def _check_alive(self, waiting: asyncio.Future[T]) -> None:
        failure = self._herder.failure()
        if failure is not None:
            _ignore_result(waiting)
            raise ConnectError(f"The worker has failed: {failure}") from failure


def _ignore_result(waiting: asyncio.Future[T]) -> None:
    """Retrieve the error when it comes: asyncio logs those that are never retrieved."""
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())


class RequestForwarder:
    """An exception handler that answers a ``NotLeaderError`` with the leader's answer. Event loop only.

    A request makes two hops at most: its parameter ``forward`` is absent at first, true after the first hop and false
    after the second. A third would be needed only while the group changes its leader.
    """

    def __init__(self, client: RestClient, request_timeout: float, sign: Sign | None = None) -> None:
        """``request_timeout``: the seconds a worker takes at most for a request; ``sign`` makes its user's headers."""
        self._client = client
        self._sign = sign
        self._request_timeout = request_timeout

    async def on_not_leader(self, request: Request, error: Exception) -> Response:
        """Forward the request; registered as the application's handler of ``NotLeaderError``."""
        assert isinstance(error, NotLeaderError)
        try:
            return await self._forward(request, error.leader_url)
        except ConnectError as failure:
            return await on_connect_error(request, failure)

    async def _forward(self, request: Request, target: str | None) -> Response:
        forward = request.query_params.get(FORWARD)
        if target is None:
            raise RebalanceNeededError("The group has no leader at the moment, as it rebalances; try again")
        if forward is not None and forward.lower() != "true":
            raise RebalanceNeededError(
                "The leader was not found within two hops from worker to worker, as the group rebalances; try again"
            )
        last = forward is not None
        # Each hop waits longer than the next one, so that the answer of the last names what blocks.
        timeout = self._request_timeout + (_MARGIN_SECONDS if last else 2 * _MARGIN_SECONDS)
        url = forward_url(target, raw_path(request), request.url.query, last=last)
        headers = {name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers}
        body = await request.body()
        if self._sign is not None:
            there = urlsplit(url)
            headers |= self._sign(request, there.path, there.query, body)
        log.debug("Forwarding %s %s", request.method, url)
        answer = await self._client.call_async(Call(request.method, url, timeout, headers, body))
        passed = {name: answer.headers[name] for name in _ANSWER_HEADERS if name in answer.headers}
        return Response(answer.body, answer.status, passed)


def forward_url(target: str, path: str, query: str, *, last: bool) -> str:
    """Return a request's URL at another worker; ``path`` as sent. After the ``last`` hop it goes no further."""
    # A client resolves dots, which the router, by the path as sent, takes for a name.
    steps = "/".join(encoded(step) if step in (".", "..") else step for step in path.split("/"))
    kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != FORWARD]
    return f"{target.rstrip('/')}{steps}?{urlencode([*kept, (FORWARD, 'false' if last else 'true')])}"
