# SPDX-License-Identifier: Apache-2.0
"""The access of a request's user, for handlers whose decisions depend on the body or the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.types import Scope

from headrace.herder.errors import ForbiddenError
from headrace.rest.access.authentication import ANONYMOUS, Principal
from headrace.rest.access.operations import Role
from headrace.rest.access.rules import ALLOW_ALL, Decision, Rules, plugins_of

if TYPE_CHECKING:
    from headrace.rest.access.change_audit import ChangeAudit

_ACCESS: Final = "headrace.access"
SECRETS: Final = "X-Headrace-Secrets"
"""A request's header: with ``hidden``, the answer has no secrets, whatever the user may see."""
ROLE: Final = "X-Headrace-Role"
"""The header of an answer that names the user's role, so that clients need not offer what is refused anyway."""

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Access:
    """The user of one request, and the rules in force at its time."""

    principal: Principal
    rules: Rules
    record: Callable[[Role, str | None, Decision], None]
    """Writes a decision to the audit record."""
    change: ChangeAudit | None = None
    """The request's line of ``headrace.audit``; None for one that changes nothing."""
    hides_secrets: bool = False
    """True for a request that wants no secrets in its answer."""

    def may(self, role: Role, connector: str | None) -> bool:
        """Return True if the rules allow the role; for leaving out what a user may not see, so not audited.

        ``connector``: None for at least one, or ADMIN for all.
        """
        return self.rules.decide(self.principal, role, connector).allowed

    def role_header(self, connector: str | None = None) -> dict[str, str]:
        """Return the header with the highest role that the user ``may`` have; none for a user without any."""
        role = max((role for role in Role if self.may(role, connector)), default=None)
        return {} if role is None else {ROLE: role.name.lower()}

    def check_config(self, connector: str | None, config: Config) -> None:
        """Raise ForbiddenError unless the user may give this connector (None: any) such a configuration."""
        plugins = plugins_of(config)
        decision = self.rules.decide(self.principal, Role.EDITOR, connector, plugins)
        self.record(Role.EDITOR, connector, decision)
        if not decision.allowed:
            raise ForbiddenError(
                f"User {self.principal.name} may not give connector {connector or 'without a name'} a configuration "
                f"with {', '.join(plugins) or 'these plugins'}: no rule allows it"
            )


def access_of(request: Request) -> Access:
    """Return the access of the request's user; full access where users are not authenticated."""
    access: Access = request.scope.get(_ACCESS, ANONYMOUS_ACCESS)
    return replace(access, hides_secrets=True) if request.headers.get(SECRETS) == "hidden" else access


def with_access(scope: Scope, access: Access) -> Scope:
    """Return the scope with the access, for ``access_of``."""
    return {**scope, _ACCESS: access}


ANONYMOUS_ACCESS: Final = Access(ANONYMOUS, ALLOW_ALL, lambda role, connector, decision: None)
