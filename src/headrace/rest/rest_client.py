# SPDX-License-Identifier: Apache-2.0
"""HTTP calls to other workers. Java: ``RestClient``."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Call:
    """``url`` with everything percent-encoded; ``timeout`` in seconds, for the answer to begin."""

    method: str
    url: str
    timeout: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """``headers`` finds names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RestClient:
    """A client with a new connection for each call: a kept one could be that of a worker that is gone.

    Thread-safe. Answers of every status are returned. Raises RetriableError if the worker cannot be reached, so that
    nothing was done, and ConnectError if that is unknown.
    """

    def __init__(
        self,
        ssl_context: Callable[[], ssl.SSLContext] | None = None,
        trace_headers: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """``ssl_context`` returns the context for https; by default one with the machine's trust store.

        ``trace_headers`` returns the headers by which a call continues the caller's trace.
        """
        self._given_context = ssl_context
        self._trace_headers = trace_headers

    def call(self, call: Call) -> Answer:
        """Make the call; blocks, so not for an event loop."""
        # Imported here: it takes a tenth of a second of a worker's start, and a single worker needs no client.
        import httpx2

        with _translated_errors(call), httpx2.Client(**self._settings(call)) as client:
            return _answer(client.send(self._request(client, call)))

    async def call_async(self, call: Call) -> Answer:
        """Make the call on an event loop."""
        import httpx2

        with _translated_errors(call):
            async with httpx2.AsyncClient(**self._settings(call)) as client:
                return _answer(await client.send(self._request(client, call)))

    def _request(self, client: httpx2.Client | httpx2.AsyncClient, call: Call) -> httpx2.Request:
        headers = {"Accept-Encoding": "identity", "User-Agent": "headrace", **self._trace_headers(), **call.headers}
        return client.build_request(call.method, call.url, headers=headers, content=call.body or None)

    def _settings(self, call: Call) -> dict[str, Any]:
        """Return the client's settings, without proxy, netrc and redirects: a worker is at its advertised URL."""
        import httpx2

        verify = self._context() if call.url.startswith("https:") else False
        timeout = httpx2.Timeout(call.timeout, connect=min(_CONNECT_SECONDS, call.timeout))
        return {"verify": verify, "timeout": timeout, "trust_env": False, "follow_redirects": False}

    def _context(self) -> ssl.SSLContext:
        return self._given_context() if self._given_context is not None else self._default_context

    @cached_property
    def _default_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def _answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)


@contextmanager
def _translated_errors(call: Call) -> Iterator[None]:
    import httpx2

    where = call.url.partition("?")[0]
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise RetriableError(f"Cannot reach the worker for {call.method} {where}: {_reason(error)}") from error
    except httpx2.TimeoutException as error:
        raise ConnectError(f"The worker has not answered {call.method} {where} for {call.timeout:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectError(f"{call.method} {where} at the other worker failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
