# SPDX-License-Identifier: Apache-2.0
"""What the user of a request may do: for handlers of requests, whose body or answer matters to it."""

from __future__ import annotations

import re
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
_HIDDEN: Final = "[hidden]"
_SECRET: Final = re.compile(
    r"(?i)pass(word|wd|phrase)|secret|token|credential|jaas|private|basic\.auth|user\.info"
    r"|(^|[._-])(api|access|account|encryption|shared|sas|ssl|keystore)[._-]?key($|[._-])|certificate\.chain"
)
_IN_VALUE: Final = re.compile(r"(?i)(pass(word|wd)|secret|token|pwd|sig|accountkey)\s*=|://[^/@\s:]*:[^/@\s]+@")

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

    def shown(self, connector: str, config: Config) -> dict[str, str | None]:
        """The configuration, without values that look like secrets for those who may only view it.

        References to config providers are no secrets.
        """
        if self.may(Role.EDITOR, connector):
            return dict(config)
        return {name: _masked(name, value) for name, value in config.items()}


def access_of(request: Request) -> Access:
    access: Access = request.scope.get(_ACCESS, EVERYBODYS)
    return access


def with_access(scope: Scope, access: Access) -> Scope:
    return {**scope, _ACCESS: access}


EVERYBODYS: Final = Access(ANONYMOUS, EVERYTHING, lambda role, connector, decision: None)


def _masked(name: str, value: str | None) -> str | None:
    if not value or (value.startswith("${") and value.endswith("}")):
        return value
    return _HIDDEN if _SECRET.search(name) or _IN_VALUE.search(value) else value
