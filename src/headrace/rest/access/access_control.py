# SPDX-License-Identifier: Apache-2.0
"""Authentication, authorization and audit of each request, as middleware."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError
from headrace.herder.errors import BadRequestError
from headrace.rest.access.access import Access, with_access
from headrace.rest.access.authentication import (
    ANONYMOUS,
    Authenticator,
    FailureLimit,
    Principal,
    RefusedCredentialsError,
    UndecidedCredentialsError,
)
from headrace.rest.access.change_audit import UNSIGNED, AskedFor, ChangeAudit, address_of, is_change
from headrace.rest.access.forwarded_user import HEADER as FORWARDED
from headrace.rest.access.forwarded_user import ForgedBodyError, checked_body
from headrace.rest.access.open_pages import challenge_header, is_open
from headrace.rest.access.operations import Role, operation
from headrace.rest.access.rules import Decision, Rules
from headrace.rest.exception_mapper import error_response
from headrace.rest.middleware.filters import is_internal
from headrace.rest.raw_path import sent_path

log = logging.getLogger(__name__)

_CHANGE: Final = "headrace.change"
_UNSIGNED_STATUSES: Final = (400, 403)
"""The answers to requests between workers that are not signed, or not by the session key."""

Record = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Audience:
    """The worker that is asked, ``worker``, by its host:port; ``in_group``: by other workers' signed requests too.

    These pass without a user.
    """

    worker: str
    in_group: bool = False


class AccessControl:
    """ASGI middleware that authenticates and authorizes requests before their bodies are read. Event loop only.

    A request that an extension has authenticated (Starlette's ``scope["user"]``) is of that user.
    """

    def __init__(
        self,
        app: ASGIApp,
        authenticators: Sequence[Authenticator],
        rules: Callable[[], Rules],
        record: Record,
        failures: FailureLimit,
        audience: Audience,
    ) -> None:
        """``record`` writes a decision to the audit record; a request whose decision cannot be recorded fails."""
        self._app = app
        self._authenticators = authenticators
        self._rules = rules
        self._record = record
        self._failures = failures
        self._in_group = audience.in_group
        self._worker = audience.worker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._in_group and is_internal(scope):
            await self._app(scope, receive, self._noting_unsigned(scope, send) if is_change(scope) else send)
            return
        if not is_change(scope):
            await self._serve(scope, receive, send)
            return
        change = ChangeAudit(scope, self._worker)
        try:
            await self._serve({**scope, _CHANGE: change}, receive, change.watched(send))
        finally:
            change.end()

    def _noting_unsigned(self, scope: Scope, send: Send) -> Send:
        """Return a ``send`` that writes the line of a refused change between workers; those of workers have none."""
        change = ChangeAudit(scope, self._worker)
        change.by(AskedFor.by(scope, UNSIGNED))
        watching = change.watched(send)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] not in _UNSIGNED_STATUSES:
                change.drop()
            await watching(message)

        return noting

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer, scope = await self._admit(scope)
        except ConnectError as error:
            log.error("%s %s failed: %s", scope["method"], sent_path(scope), error)
            answer = error_response(500, str(error))
        except Exception as error:
            # A defect of an authenticator must not let a request in.
            log.error("%s %s failed unexpectedly", scope["method"], sent_path(scope), exc_info=error)
            answer = error_response(500, f"Internal error: {error_line(error)}")
        try:
            await (answer or self._app)(scope, checked_body(scope, receive), send)
        except ForgedBodyError as error:
            await error_response(403, str(error), {"Connection": "close"})(scope, receive, send)

    async def _admit(self, scope: Scope) -> tuple[ASGIApp | None, Scope]:
        """Return the answer to a refused request, or None and the scope for an accepted one."""
        if is_open(scope):
            # Credentials are not looked at: wrong ones must not keep the page away that asks for others.
            self._audit(scope, ANONYMOUS, None, "allowed")
            return None, scope
        address = address_of(scope)
        principal, refusal = None, None
        wait = self._wait(scope, address)
        if not wait:
            try:
                principal = await self._principal(scope)
            except RefusedCredentialsError as error:
                refusal = error
            wait = self._wait(scope, address)  # others of the address may have failed meanwhile
        if wait:
            self._audit(scope, ANONYMOUS, None, "throttled")
            return error_response(429, "Too many failed logins from this address", {"Retry-After": str(wait)}), scope
        if refusal is not None:
            if not isinstance(refusal, UndecidedCredentialsError):
                self._failures.failed(address)
            log.warning("A login from %s was refused: %s", address, refusal)
        if principal is None:
            self._audit(scope, ANONYMOUS, None, "unauthenticated")
            return self._challenge(Headers(scope=scope)), scope
        return self._authorize(scope, principal)

    def _wait(self, scope: Scope, address: str) -> int:
        """Return the seconds that the request's address has to wait; 0 for a request without guessable credentials."""
        headers = Headers(scope=scope)
        guessing = "authorization" in headers and not (self._in_group and FORWARDED in headers)
        return self._failures.wait(address) if guessing else 0

    async def _principal(self, scope: Scope) -> Principal | None:
        """Return the request's user; None if authentication is required and the request has no credentials."""
        for authenticator in self._authenticators:
            if (principal := await authenticator.authenticate(scope)) is not None:
                if not principal.name.isprintable():
                    raise RefusedCredentialsError(f"the user name {principal.name!a:.100}, which cannot be shown")
                return principal
        user = scope.get("user")
        if user is not None and getattr(user, "is_authenticated", False):
            return Principal(str(user.display_name), frozenset(getattr(user, "groups", ())), "extension")
        return None if self._authenticators else ANONYMOUS

    def _authorize(self, scope: Scope, principal: Principal) -> tuple[ASGIApp | None, Scope]:
        try:
            wanted = operation(scope["method"], sent_path(scope))
        except BadRequestError as error:
            self._audit(scope, principal, None, "refused")
            return error_response(400, str(error)), scope
        rules = self._rules()
        decision = rules.decide(principal, wanted.role, wanted.connector)
        self._audit(scope, principal, wanted.connector, decision)
        if not decision.allowed:
            what = f" connector {wanted.connector}" if wanted.connector is not None else ""
            message = f"User {principal.name} may not {scope['method']}{what} here: it takes the role"
            return error_response(403, f"{message} {wanted.role.name.lower()}"), scope

        def record(role: Role, connector: str | None, decision: Decision) -> None:
            self._audit(scope, principal, connector, decision)

        return None, with_access(scope, Access(principal, rules, record, scope.get(_CHANGE)))

    def _audit(self, scope: Scope, principal: Principal, connector: str | None, decision: Decision | str) -> None:
        """Write a decision to the audit record; ``decision``: a text where the rules were not consulted."""
        asked_for = AskedFor.by(scope, principal, connector)
        change: ChangeAudit | None = scope.get(_CHANGE)
        if change is not None:
            change.by(asked_for)
        rule = decision.rule if isinstance(decision, Decision) else None
        self._record(asked_for.decision(rule, _result(decision)))

    def _challenge(self, asked: Headers) -> ASGIApp:
        schemes = [each.scheme for each in self._authenticators if each.scheme]
        headers = {challenge_header(asked): ", ".join(schemes)} if schemes else {}
        return error_response(401, "User cannot access the resource.", headers)


def _result(decision: Decision | str) -> str:
    if isinstance(decision, str):
        return decision
    return "allowed" if decision.allowed else "refused"
