# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorization of each request, as middleware."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

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
from headrace.rest.access.forwarded_user import HEADER as FORWARDED
from headrace.rest.access.forwarded_user import ForgedBodyError, checked_body
from headrace.rest.access.operations import Role, operation
from headrace.rest.access.rules import Decision, Rules
from headrace.rest.exception_mapper import error_response
from headrace.rest.middleware.filters import is_internal
from headrace.rest.raw_path import sent_path

log = logging.getLogger(__name__)

_LONGEST: Final = 4096
"""Characters of a connector's name in the audit log; no connector's name is so long."""


Record = Callable[[Mapping[str, Any]], None]


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
        in_group: bool = False,
    ) -> None:
        """``record`` writes a decision to the audit log; a request whose decision cannot be recorded fails.

        ``in_group``: other workers' signed requests pass here without a user.
        """
        self._app = app
        self._authenticators = authenticators
        self._rules = rules
        self._record = record
        self._failures = failures
        self._in_group = in_group

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._in_group and is_internal(scope):
            await self._app(scope, receive, send)
            return
        try:
            answer, scope = await self._admit(scope)
        except ConnectError as error:
            log.error("%s %s failed: %s", scope["method"], sent_path(scope), error)
            answer = error_response(500, str(error))
        except Exception as error:
            # A defect of an authenticator must not let anybody in.
            log.error("%s %s failed unexpectedly", scope["method"], sent_path(scope), exc_info=error)
            answer = error_response(500, f"Internal error: {error_line(error)}")
        try:
            await (answer or self._app)(scope, checked_body(scope, receive), send)
        except ForgedBodyError as error:
            await error_response(403, str(error), {"Connection": "close"})(scope, receive, send)

    async def _admit(self, scope: Scope) -> tuple[ASGIApp | None, Scope]:
        """Return the answer to a refused request, or None and the scope for an accepted one."""
        address = scope["client"][0] if scope.get("client") else "unknown"
        principal, refusal = None, None
        wait = self._wait(scope, address)
        if not wait:
            try:
                principal = await self._principal(scope)
            except RefusedCredentialsError as error:
                refusal = error
            wait = self._wait(scope, address)  # others of the address may have failed meanwhile
        if wait:
            self._audit(scope, address, ANONYMOUS, None, "throttled")
            return error_response(429, "Too many failed logins from this address", {"Retry-After": str(wait)}), scope
        if refusal is not None:
            if not isinstance(refusal, UndecidedCredentialsError):
                self._failures.failed(address)
            log.warning("A login from %s was refused: %s", address, refusal)
        if principal is None:
            self._audit(scope, address, ANONYMOUS, None, "unauthenticated")
            return self._challenge(), scope
        return self._authorize(scope, principal, address)

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

    def _authorize(self, scope: Scope, principal: Principal, address: str) -> tuple[ASGIApp | None, Scope]:
        try:
            wanted = operation(scope["method"], sent_path(scope))
        except BadRequestError as error:
            self._audit(scope, address, principal, None, "refused")
            return error_response(400, str(error)), scope
        rules = self._rules()
        decision = rules.decide(principal, wanted.role, wanted.connector)
        self._audit(scope, address, principal, wanted.connector, decision)
        if not decision.allowed:
            what = f" connector {wanted.connector}" if wanted.connector is not None else ""
            message = f"User {principal.name} may not {scope['method']}{what} here: it takes the role"
            return error_response(403, f"{message} {wanted.role.name.lower()}"), scope

        def record(role: Role, connector: str | None, decision: Decision) -> None:
            self._audit(scope, address, principal, connector, decision)

        return None, with_access(scope, Access(principal, rules, record))

    def _audit(
        self, scope: Scope, address: str, principal: Principal, connector: str | None, decision: Decision | str
    ) -> None:
        """Write to the audit log; ``decision``: a text where the rules were not consulted."""
        self._record(
            {
                "user": principal.name,
                "by": principal.method,
                "address": address,
                "method": scope["method"],
                "path": sent_path(scope),
                "connector": connector and connector[:_LONGEST],
                "rule": decision.rule if isinstance(decision, Decision) else None,
                "result": _result(decision),
            }
        )

    def _challenge(self) -> ASGIApp:
        schemes = [each.scheme for each in self._authenticators if each.scheme]
        headers = {"WWW-Authenticate": ", ".join(schemes)} if schemes else {}
        return error_response(401, "User cannot access the resource.", headers)


def _result(decision: Decision | str) -> str:
    if isinstance(decision, str):
        return decision
    return "allowed" if decision.allowed else "refused"
