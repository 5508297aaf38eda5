# SPDX-License-Identifier: Apache-2.0
"""Requests to a worker's REST API, and its errors as errors of commands."""

from __future__ import annotations

import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from headrace import __version__
from headrace.cli.ctl.address import URL_VARIABLE, Address, Login, verifies
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode, UnavailableError, near_name

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S: Final = 100.0
"""Longer than the 90 s that a worker has for an answer."""
_REBALANCE_S: Final = 20.0
_CODES: Final = {
    HTTPStatus.NOT_FOUND: ExitCode.NOT_FOUND,
    HTTPStatus.UNAUTHORIZED: ExitCode.NOT_ALLOWED,
    HTTPStatus.FORBIDDEN: ExitCode.NOT_ALLOWED,
}
_UNAVAILABLE: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "/connectors": {},
    "/connector-plugins": {"connectorsOnly": "false"},
    "/admin/loggers": {},
}
"""Paths that list what the paths below them name, with the parameters for all of it."""
_MESSAGE_CHARS: Final = 2000
_ERRNO: Final = re.compile(r"^\[Errno -?\d+\] ")
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's names for an answer that is plain text."""


def path(*segments: str | int) -> str:
    """Return a path of the API; each segment is encoded whole, also one with slashes, and one of dots alone."""
    return "".join(f"/{_encoded(str(segment))}" for segment in segments)


def _encoded(segment: str) -> str:
    """Return a segment of a path. Clients take "." and ".." for steps in the path, so their dots are encoded too."""
    return segment.replace(".", "%2E") if segment in (".", "..") else quote(segment, safe="")


class RestApi:
    """A worker's API. Close it after use; for one thread."""

    def __init__(self, address: Address, login: Login, timeout: float = TIMEOUT_S) -> None:
        import httpx2

        self._address = address
        self._login = login
        self.patience = _REBALANCE_S
        """Seconds for which requests are repeated that a worker refuses because of a rebalance."""
        headers = {"Accept": "application/json", "User-Agent": f"headrace/{__version__}"}
        if login.token is not None:
            headers["Authorization"] = f"Bearer {login.token}"
        self._http = httpx2.Client(
            base_url=address.url,
            auth=login.user,
            headers=headers,
            timeout=httpx2.Timeout(timeout, connect=min(timeout, 5.0)),
            verify=_tls(address),
        )
        self._failures = (httpx2.TransportError, httpx2.InvalidURL, UnicodeEncodeError)

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        """Return the answer's JSON, an object or array."""
        return self._container(self.send("GET", path, params=params))

    def find(self, path: str) -> Any:
        """Return the same, but None if there is no such thing."""
        try:
            return self._container(self._answer("GET", path))
        except CtlError as error:
            if error.code is not ExitCode.NOT_FOUND:
                raise
            return None

    def send(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """Return the answer's JSON, None for an empty answer. Raise CtlError with the server's message.

        Requests that are refused because of a rebalance (409) had no effect: they are sent again, for ``patience``.
        """
        try:
            return self._answer(method, path, body, params)
        except CtlError as error:
            if error.code is ExitCode.NOT_FOUND and error.remedy is None:
                error.remedy = self._near_name(path)
            raise

    def is_worker(self) -> bool:
        """Return True if what is at the address answers as a worker of Kafka Connect does."""
        try:
            about = self.get("/")
        except CtlError:
            return False
        return isinstance(about, dict) and "version" in about

    def not_a_worker(self) -> CtlError:
        """Return the error for an address of something else."""
        return CtlError(f"{self._address.url} ({self._address.source}) does not answer as a worker of Kafka Connect")

    def _container(self, found: Any) -> Any:
        if not isinstance(found, dict | list):
            raise self.not_a_worker()
        return found

    def _near_name(self, path: str) -> str | None:
        """Return a remedy for what a path names and does not exist: the similar name; None if there is none."""
        for collection, params in _NAMED.items():
            if path.startswith(f"{collection}/"):
                name = unquote(path.removeprefix(f"{collection}/").partition("/")[0])
                try:
                    return near_name(name, _names(self._answer("GET", collection, params=params)))
                except CtlError:
                    return None
        return None

    def _answer(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        content = {} if body is None else {"json": body}
        request = self._http.build_request(method, path, params=params or None, **content)
        deadline = time.monotonic() + self.patience
        while _is_rebalancing(response := self._sent(lambda: self._http.send(request))):
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        return self._content(response)

    def _sent(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        try:
            return send()
        except self._failures as error:
            address = self._address
            reason = _ERRNO.sub("", " ".join(str(error).split())) or type(error).__name__
            said = f"No answer from {address.url} ({address.source}): {reason}"
            raise UnavailableError(said, ExitCode.NO_ANSWER, _remedy(address, reason)) from error

    def _content(self, response: httpx2.Response) -> Any:
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise self._refused(response)
        if response.is_redirect:
            where, remedy = response.headers.get("location", ""), "Name that address, if it is a worker's, with --url"
            raise CtlError(f"{self._address.url} ({self._address.source}) refers to {where}", remedy=remedy)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise self.not_a_worker() from error

    def _refused(self, response: httpx2.Response) -> CtlError:
        status, message = response.status_code, _message(response)
        code = _CODES.get(HTTPStatus(status), ExitCode.ERROR) if status in set(HTTPStatus) else ExitCode.ERROR
        if not message:  # a proxy's, or another server's
            code = ExitCode.ERROR if code is ExitCode.NOT_FOUND else code
            message = _status_line(response)
        if message == _status_line(response):
            message = f"{self._address.url} ({self._address.source}) answers {message} to {response.url.path}"
        remedy = self._login_remedy() if status == HTTPStatus.UNAUTHORIZED else None
        kind = UnavailableError if status in _UNAVAILABLE or _is_rebalancing(response) else CtlError
        return kind(message[:_MESSAGE_CHARS], code, remedy)

    def _login_remedy(self) -> str:
        if self._login.token is not None:
            return f"Check the token ({self._address.source})"
        if self._login.user is not None:
            return f"Check the password of {self._login.user[0]} ({self._address.source})"
        return "Name a user: headrace context set NAME --url URL --username USER"


def _names(found: Any) -> Iterator[str]:
    """Yield the names of an answer that lists connectors, loggers, or plugins, which have a short name as well."""
    for each in found if isinstance(found, dict | list) else ():
        name = each.get("class") if isinstance(each, dict) else each
        if isinstance(name, str):
            yield from {name, name.rpartition(".")[2]} if isinstance(each, dict) else (name,)


def _message(response: httpx2.Response) -> str:
    """Return a worker's message about an error, "" if there is none."""
    try:
        found = response.json()
    except ValueError:
        found = None
    message = found.get("message") if isinstance(found, dict) else None
    return str(message) if message else ""


def _status_line(response: httpx2.Response) -> str:
    return f"HTTP {response.status_code} {response.reason_phrase}"


def _remedy(address: Address, reason: str) -> str:
    """Return what to do where no worker answers."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return "Name the file of the authority that signs its certificate: headrace context set NAME --ca FILE"
    if any(said in reason for said in _NO_TLS):
        return f"Perhaps it has no TLS: try {address.url.replace('https:', 'http:', 1)}"
    if address.url.startswith("http:") and "disconnected" in reason:
        return f"Perhaps it has TLS: try {address.url.replace('http:', 'https:', 1)}"
    return f"Start a worker there, or name another: --url, --context or {URL_VARIABLE}"


def _is_rebalancing(response: httpx2.Response) -> bool:
    """Return True for a conflict that passes; Java has no header for it, only these messages."""
    message = _message(response)
    if response.status_code != HTTPStatus.CONFLICT:  # Java answers 500 to a GET of a configuration
        return response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR and "a rebalance is expected" in message
    return "retry-after" in response.headers or "rebalance" in message or "momentarily" in message


def _tls(address: Address) -> ssl.SSLContext:
    if not address.url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read what the machine trusts takes longer than an answer
    settings = address.settings
    try:
        context = ssl.create_default_context(cafile=_file(settings.get("ca")))
        if certificate := _file(settings.get("certificate")):
            context.load_cert_chain(certificate, _file(settings.get("key")))
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(f"{key}={settings[key]}" for key in ("ca", "certificate", "key") if key in settings)
        raise ArgumentError(
            f"Files for TLS cannot be used ({address.source}, {files}): {error.strerror or error}"
        ) from error
    if not verifies(settings):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _file(value: str | bool | None) -> str | None:
    return os.path.expanduser(value) if isinstance(value, str) else None
