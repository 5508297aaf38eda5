# SPDX-License-Identifier: Apache-2.0
"""Headers added to all answers, by ``response.http.headers.config`` (KIP-577)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.config.header_rules import HeaderRule


class ResponseHeaders:
    """ASGI middleware that applies the rules to each answer's headers."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for rule in self._rules:
                    _apply(rule, headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = formatdate(time.time() + int(rule.value) / 1000, usegmt=True) if rule.date else rule.value
    if rule.replaces:
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)
