# SPDX-License-Identifier: Apache-2.0
"""The access control of a worker's REST API, put together from its properties."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.types import ASGIApp

from headrace.api.errors import ConfigError
from headrace.config.access_config import (
    AUDIT_CHAIN,
    AUDIT_FILE,
    AUTHENTICATION,
    AUTHORIZATION_FILE,
    BASIC,
    CERTIFICATE,
    CREDENTIALS_FILE,
    JWT,
    MAX_FAILURES,
)
from headrace.config.worker_config import WorkerConfig
from headrace.rest.access.access_control import AccessControl, Audience
from headrace.rest.access.audit_log import AuditLog
from headrace.rest.access.authentication import Authenticator, FailureLimit
from headrace.rest.access.bearer_tokens import BearerTokens
from headrace.rest.access.certificates import Certificates, TrustedProxies
from headrace.rest.access.forwarded_user import ForwardedUsers
from headrace.rest.access.passwords import Passwords
from headrace.rest.access.rules import ALLOW_ALL, Rules, parse_rules
from headrace.rest.watched_files import WatchedFiles

_CLIENT_AUTH = "ssl.client.auth"


class WorkersAccess:
    """A worker's authentication, authorization and audit log; ``wrap`` puts them before each application."""

    def __init__(self, config: WorkerConfig) -> None:
        """Raise ConfigError, with property and file, for invalid properties."""
        kinds = config.get(AUTHENTICATION)
        self._authenticators = [_authenticator(kind, config) for kind in kinds]
        self._in_group = False
        self._rules = _rules(config.get(AUTHORIZATION_FILE))
        self._failures = FailureLimit(config.get(MAX_FAILURES))
        path = config.get(AUDIT_FILE)
        self._audit = AuditLog(path, config.get(AUDIT_CHAIN)) if path else None

    def accept_forwarded(self, users: ForwardedUsers) -> None:
        """Accept users of requests that other workers of the group forward. Called before ``wrap``."""
        self._in_group = True
        if self._authenticators:
            self._authenticators.insert(0, users)

    def wrap(self, app: ASGIApp, worker: str) -> ASGIApp:
        """Return the application behind access control; ``worker`` is this worker's host:port.

        Without properties for access all users may do everything, and changes are audited.
        """
        record = self._audit.write if self._audit is not None else lambda entry: None
        audience = Audience(worker, self._in_group)
        return AccessControl(app, self._authenticators, self._rules, record, self._failures, audience)

    def close(self) -> None:
        """Close the audit log."""
        if self._audit is not None:
            self._audit.close()


def _authenticator(kind: str, config: WorkerConfig) -> Authenticator:
    if kind == BASIC:
        return Passwords(config.get(CREDENTIALS_FILE))
    if kind == JWT:
        return BearerTokens(config)
    if kind == CERTIFICATE:
        _check_client_auth(config)
        return Certificates()
    return TrustedProxies(config)


def _check_client_auth(config: WorkerConfig) -> None:
    asked = [text for name, text in config.raw.items() if name.endswith(_CLIENT_AUTH)]
    if not any(text in ("required", "requested") for text in asked):
        reason = f"it needs an https listener with {_CLIENT_AUTH}=required or requested"
        raise ConfigError.invalid(AUTHENTICATION, CERTIFICATE, reason)


def _rules(path: str | None) -> Callable[[], Rules]:
    if not path:
        return lambda: ALLOW_ALL
    return WatchedFiles([path], lambda: _read(path)).get


def _read(path: str) -> Rules:
    try:
        text = Path(path).read_text()
    except (OSError, ValueError) as error:
        raise ConfigError.invalid(AUTHORIZATION_FILE, path, f"it cannot be read: {error}") from error
    return parse_rules(text, path)
