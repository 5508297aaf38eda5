# SPDX-License-Identifier: Apache-2.0
"""The audit of a request: who asked for what, for the audit record, and with which result, for ``headrace.audit``.

The record has the decision about every request, before it is served; the logger a line for each request that changes
something, when it is answered or refused.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.types import Message, Scope, Send

from headrace.api.config_def import HIDDEN
from headrace.logs import audit
from headrace.rest.access.access import Config, access_of
from headrace.rest.access.authentication import ANONYMOUS, Principal
from headrace.rest.access.hidden_secrets import HiddenSecrets, Secrets
from headrace.rest.herder_request_handler import FORWARD
from headrace.rest.raw_path import sent_path
from headrace.storage import json_bytes

UNSIGNED: Final = Principal("unsigned")
"""The sender of a request between workers that no worker has signed."""
_CHANGING: Final = ("POST", "PUT", "PATCH", "DELETE")
_VALIDATION: Final = re.compile(r"/connector-plugins/[^/]+/config/validate/?")
_SHOWN_PARAMETERS: Final = ("includeTasks", "onlyFailed", "includeOffsets", "scope")
_LONGEST: Final = 4096
"""Characters of a connector's name in the audit record; no connector's name is so long."""
_LONGEST_BODY: Final = 1 << 16
_LONGEST_REASON: Final = 200
_LONGEST_PATH: Final = 1000
_LONGEST_LOOKUP: Final = 5.0
"""Seconds that plugins have to return their definitions."""
_MOST_OFFSETS: Final = 12
_MASK: Final = "****"


@dataclass(frozen=True, slots=True)
class AskedFor:
    """A user's request, as the audit names it; ``connector`` None for none, or for one that only the body names."""

    principal: Principal
    address: str
    method: str
    path: str
    connector: str | None = None

    @classmethod
    def by(cls, scope: Scope, principal: Principal = ANONYMOUS, connector: str | None = None) -> AskedFor:
        """Return it for a request of this user."""
        return cls(principal, address_of(scope), scope["method"], sent_path(scope), connector)

    def decision(self, rule: str | None, result: str) -> dict[str, Any]:
        """Return the entry of the audit record; ``rule`` is the one that allows the request."""
        return {
            "user": self.principal.name,
            "by": self.principal.method,
            "address": self.address,
            "method": self.method,
            "path": self.path,
            "connector": self.connector and self.connector[:_LONGEST],
            "rule": rule,
            "result": result,
        }


class ChangeAudit:
    """The line of one request that changes something, which grows while the request is served. Event loop only."""

    def __init__(self, scope: Scope, worker: str) -> None:
        """``worker``: host:port of this worker, as in statuses."""
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        self.asked_for = AskedFor.by(scope)
        self.change: str | None = None
        """The text of the change, with secrets masked."""
        self.secrets = Secrets()
        """The secrets that the reason of a refusal could quote."""
        self._shown_query = urlencode([(name, text) for name, text in query if name in _SHOWN_PARAMETERS])
        self._forwarded = any(name == FORWARD for name, _ in query)
        self._worker = worker
        self.is_on = audit.is_on()
        self._ended = False
        self._status: int | None = None
        self._body = bytearray()

    def by(self, asked_for: AskedFor) -> None:
        """Note the user, and the connector when it is known."""
        connector = asked_for.connector or self.asked_for.connector
        self.asked_for = replace(asked_for, connector=connector)

    def drop(self) -> None:
        """Write no line: the request changes nothing."""
        self._ended = True

    def watched(self, send: Send) -> Send:
        """Return a ``send`` that writes the line before the client has the whole answer."""

        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._status = message["status"]
                if self._status < HTTPStatus.BAD_REQUEST:
                    self.end()
            elif message["type"] == "http.response.body" and not self._ended:
                self._body += message.get("body", b"")[: _LONGEST_BODY - len(self._body)]
                if not message.get("more_body", False):
                    self.end()
            await send(message)

        return watching

    def end(self) -> None:
        """Write the line, once. A line that was begun is written, also if the request has turned the logger off."""
        if self._ended:
            return
        self._ended = True
        asked, refused = self.asked_for, self._status is None or self._status >= HTTPStatus.BAD_REQUEST
        path = audit.cut(asked.path, _LONGEST_PATH) + (f"?{self._shown_query}" if self._shown_query else "")
        fields = {
            "who": asked.principal.name,
            "by": asked.principal.method if asked.principal not in (ANONYMOUS, UNSIGNED) else None,
            "address": asked.address,
            "worker": self._worker,
            "forwarded": "true" if self._forwarded else None,
            "what": f"{asked.method} {path}",
            "connector": asked.connector and audit.cut(asked.connector),
            "change": None if refused else self.change,
            "result": "unknown" if self._status is None else str(self._status),
            "reason": self._reason() if refused else None,
        }
        audit.write(fields, always=self.is_on)

    def _reason(self) -> str:
        if self._status is None:
            return "the request was not answered: the client, or the worker, has ended before"
        try:
            reason = str(json.loads(bytes(self._body))["message"])
        except (ValueError, KeyError, TypeError):
            reason = "the answer has no message"
        return audit.cut(_as_masked(self.secrets.masked_text(" ".join(reason.split()))), _LONGEST_REASON)


def address_of(scope: Scope) -> str:
    """Return the client's address."""
    return scope["client"][0] if scope.get("client") else "unknown"


def is_change(scope: Scope) -> bool:
    """Return True for a request that changes something if it is accepted; validation does not."""
    return scope["method"] in _CHANGING and not _VALIDATION.fullmatch(sent_path(scope))


# ---- for handlers


def note(request: Request, change: str) -> None:
    """Note what the request changes; for a text without secrets."""
    if (audited := access_of(request).change) is not None:
        audited.change = change


async def note_config(request: Request, hidden: HiddenSecrets, before: Config, after: Config) -> None:
    """Note the difference of two configurations of a connector, before the herder is asked for the change.

    It may ask plugins for their definitions, so the user must be authorized for these.
    """
    audited = access_of(request).change
    if audited is None or not audited.is_on:
        return
    audited.secrets = secrets = await _secrets_in(hidden, before, after)
    audited.change = audit.difference(before, after, lambda name, text: _as_masked(secrets.masked(name, text)))


async def _secrets_in(hidden: HiddenSecrets, before: Config, after: Config) -> Secrets:
    """Return the secrets; without all plugins' definitions, as of one that hangs, every value is one."""
    try:
        secrets = await asyncio.wait_for(hidden.secrets_in(before, after), _LONGEST_LOOKUP)
    except TimeoutError:
        secrets = Secrets(complete=False)
    return secrets if secrets.complete else Secrets.all_of(before, after)


def note_no_change(request: Request) -> None:
    """Have no line written: the request changes nothing."""
    if (audited := access_of(request).change) is not None:
        audited.drop()


def offsets_text(changes: Iterable[Sequence[Any]]) -> str:
    """Return partitions, each with its offsets, the former one first, in one text; masks what looks like a secret."""
    texts = [f"{partition}: {' → '.join(offsets)}" for partition, *offsets in (map(_json, each) for each in changes)]
    more = [f"… ({len(texts) - _MOST_OFFSETS} more)"] if len(texts) > _MOST_OFFSETS else []
    return "; ".join([*texts[:_MOST_OFFSETS], *more]) or "nothing"


def _json(value: Any) -> str:
    """Return the value's JSON, masked before it is cut: a part of a secret has no shape."""
    return audit.cut(_as_masked(Secrets().masked_text(json_bytes.dumps(value).decode())))


def _as_masked(text: str) -> str:
    return text.replace(HIDDEN, _MASK)
