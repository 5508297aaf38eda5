# SPDX-License-Identifier: Apache-2.0
"""What the user of a request may do: for handlers of requests, whose body or answer matters to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.types import Scope

from headrace.herder.errors import ForbiddenError
from headrace.rest.access.operations import Role
from headrace.rest.access.principal import ANONYMOUS, Principal
from headrace.rest.access.rules import EVERYTHING, Decision, Rules, plugins_of

_ACCESS: Final = "headrace.access"

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Access:
    """The user of one request under the rules that are in force at its time."""

    principal: Principal
    rules: Rules
    note: Callable[[Role, str | None, Decision], None]
    """Puts a decision on record."""

    def may(self, role: Role, connector: str) -> bool:
        """For leaving out what a user may not see; not on record."""
        return self.rules.decide(self.principal, role, connector).allowed

    def check_config(self, connector: str | None, config: Config) -> None:
        """Raise ForbiddenError unless the user may give this connector, None: any one, such a configuration."""
        plugins = plugins_of(config)
        decision = self.rules.decide(self.principal, Role.EDITOR, connector, plugins)
        self.note(Role.EDITOR, connector, decision)
        if not decision.allowed:
            raise ForbiddenError(
                f"User {self.principal.name} may not give connector {connector or 'without a name'} a configuration "
                f"with {', '.join(plugins) or 'these plugins'}: no rule allows it"
            )


def access_of(request: Request) -> Access:
    access: Access = request.scope.get(_ACCESS, EVERYBODYS)
    return access


def with_access(scope: Scope, access: Access) -> Scope:
    return {**scope, _ACCESS: access}


EVERYBODYS: Final = Access(ANONYMOUS, EVERYTHING, lambda role, connector, decision: None)
