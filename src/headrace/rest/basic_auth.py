# SPDX-License-Identifier: Apache-2.0
"""Basic authentication as an extension. Java: ``BasicAuthSecurityRestExtension`` with ``PropertyFileLoginModule``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from starlette.authentication import SimpleUser
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.api.errors import ConfigError
from headrace.api.rest_extension import ConnectRestExtension, ConnectRestExtensionContext
from headrace.config.access_config import CREDENTIALS_FILE
from headrace.config.distributed_config import GROUP_ID
from headrace.rest.access.passwords import basic_credentials, read_users, same_password
from headrace.rest.exception_mapper import error_response
from headrace.rest.middleware.filters import is_internal

JAAS_FILE: Final = "java.security.auth.login.config"
"""The property of a JAAS file, named as the JVM's system property."""
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/|(\"[^\"\n]*\")", re.DOTALL)
_ENTRY: Final = re.compile(r"\bKafkaConnect\s*\{([^}]*)\}")
_MODULE: Final = re.compile(r"\s*(?:[\w.]+\.)?PropertyFileLoginModule\s+\w+\s+file\s*=\s*\"([^\"]+)\"\s*;\s*")
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="headrace", charset="UTF-8"'}


class BasicAuthSecurityRestExtension(ConnectRestExtension):
    """An extension that admits the users of a properties file, ``user=password``, only. The file is read once."""

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self._in_group = False

    def configure(self, configs: Mapping[str, Any]) -> None:
        path = configs.get(CREDENTIALS_FILE) or _file_of_jaas(configs.get(JAAS_FILE))
        if not path:
            raise ConfigError.invalid(CREDENTIALS_FILE, path, "basic auth needs a properties file of user=password")
        self._users = read_users(path)
        self._in_group = GROUP_ID in configs

    def register(self, context: ConnectRestExtensionContext) -> None:
        context.add_middleware(lambda app: _BasicAuth(app, self._users, self._in_group))


def _file_of_jaas(path: str | None) -> str | None:
    """Return the credentials file that a JAAS file names for ``KafkaConnect``; raise ConfigError if it has none."""
    if not path:
        return None
    try:
        text = Path(path).read_text()
    except (OSError, ValueError) as error:
        raise ConfigError.invalid(JAAS_FILE, path, f"it cannot be read: {error}") from error
    entry = _ENTRY.search(_COMMENT.sub(lambda found: found[1] or " ", text))
    module = entry and _MODULE.fullmatch(entry[1])
    if not module:
        reason = 'it has no entry KafkaConnect with PropertyFileLoginModule and its file="..." alone'
        raise ConfigError.invalid(JAAS_FILE, path, f"{reason}; other login modules are to be REST extensions")
    return module[1]


class _BasicAuth:
    """ASGI middleware that answers 401 to requests without a known user's credentials."""

    def __init__(self, app: ASGIApp, users: Mapping[str, str], in_group: bool) -> None:
        """Wrap ``app``; ``in_group``: signed requests of other workers pass without a user."""
        self._app = app
        self._users = users
        self._in_group = in_group

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._in_group and is_internal(scope):
            await self._app(scope, receive, send)
            return
        if user := self._user(Headers(scope=scope).get("authorization", "")):
            await self._app({**scope, "user": SimpleUser(user)}, receive, send)
            return
        response = error_response(401, "User cannot access the resource.", _CHALLENGE)
        await response(scope, receive, send)

    def _user(self, authorization: str) -> str | None:
        """Return the user of valid credentials, None for any others."""
        try:
            given = basic_credentials(authorization)
        except ValueError:
            given = None
        if given is None:
            return None
        name, password = given
        # An unknown user takes as long as a wrong password: the time does not reveal which users exist.
        return name if same_password(password, self._users.get(name, "")) and name in self._users else None
