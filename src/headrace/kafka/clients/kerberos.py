# SPDX-License-Identifier: Apache-2.0
"""Kerberos login for all Kafka clients of a process: tickets of a keytab, kept in memory, or of a ticket cache.

Both client libraries use MIT Kerberos, which itself gets tickets for a "client keytab" and gets new ones half-way to
their end. So no ``kinit`` and no shell runs, and no two processes write one cache. Java: ``KerberosLogin``,
``Krb5LoginModule``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.kafka.errors import RetriableKafkaError

JAAS: Final = "sasl.jaas.config"
NEEDED: Final = (
    "the packages of PyPI have no Kerberos: scripts/kerberos.py of headrace's sources builds some that have, see "
    "docs/guide/kafka-security.md; or use another mechanism"
)
_MEMORY: Final = "MEMORY:headrace"
_KEYTAB_MAGIC: Final = b"\x05"
_KDC_UNREACHABLE: Final = 2529639068
_NOTHING_IN_CACHE: Final = 2529639107
"""MIT's ``KRB5_KDC_UNREACH`` and ``KRB5_FCC_NOFILE``; the latter where a keytab has nothing of the principal."""


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """The source of tickets: ``keytab`` for ``principal`` (None: its first), else ``cache`` (None: MIT's default)."""

    keytab: str | None = None
    principal: str | None = None
    cache: str | None = None

    def __str__(self) -> str:
        if self.keytab is None:
            return f"with tickets of {self.cache or 'the default cache'}"
        return f"as {self.principal or 'the first principal'} of {self.keytab}"


_lock = threading.Lock()
_login: KerberosLogin | None = None


def kerberos_login(props: Mapping[str, str], options: Mapping[str, str]) -> KerberosLogin:
    """Return the login of a client with ``props``, whose login module has ``options``."""
    keytab = options.get("keyTab", props.get("sasl.kerberos.keytab"))
    if keytab is None or options.get("useKeyTab", "true").lower() == "false":
        return KerberosLogin(cache=options.get("ticketCache"))
    return KerberosLogin(keytab, options.get("principal", props.get("sasl.kerberos.principal")))


def log_in(login: KerberosLogin) -> None:
    """Get a ticket of ``login`` for all clients of this process; MIT Kerberos renews it when needed. Blocks.

    Raises:
        ConfigError: the ticket is refused, this process has another login, or Kerberos is not installed.
        RetriableKafkaError: no KDC answers.
    """
    global _login
    try:
        import gssapi
    except (ImportError, OSError) as error:
        raise ConfigError.invalid("sasl.mechanism", "GSSAPI", NEEDED) from error
    with _lock:
        if _login not in (None, login):
            raise ConfigError(
                f"Invalid configuration {JAAS}: Kafka clients of this process log in to Kerberos {_login}, none "
                f"can {login}; a worker has one login, and each task has one",
                JAAS,
            )
        if login.keytab is not None:
            _check_keytab(login.keytab)
        try:
            _acquire_ticket(gssapi, login)
        except gssapi.exceptions.GSSError as error:
            raise _refusal(login, error) from error
        _login = login


def reason(error: Any) -> str:
    """Return MIT Kerberos' message for a ``GSSError``, or GSSAPI's own if it has none."""
    return "; ".join(error.get_all_statuses(error.min_code, False)) or str(error)


def _check_keytab(path: str) -> None:
    """Raise ConfigError unless ``path`` is a keytab: MIT Kerberos only reports other files as without tickets."""
    try:
        with open(path, "rb") as file:
            begins = file.read(1)
    except OSError as error:
        raise _invalid(f"keyTab {path} cannot be read: {error.strerror or error}") from error
    if begins != _KEYTAB_MAGIC:
        raise _invalid(f"keyTab {path} is not a keytab")


def _acquire_ticket(gssapi: Any, login: KerberosLogin) -> None:
    if login.keytab is None:
        store = None if login.cache is None else {"ccache": login.cache}
        if not gssapi.Credentials(usage="initiate", store=store).lifetime:
            raise _invalid(f"there is no valid Kerberos ticket: those of {login.cache or 'the cache'} have expired")
    else:
        name = login.principal and gssapi.Name(login.principal, gssapi.NameType.kerberos_principal)
        gssapi.Credentials(name=name, usage="initiate", store={"client_keytab": login.keytab, "ccache": _MEMORY})
        _set_variable("KRB5_CLIENT_KTNAME", login.keytab)
    cache = login.cache if login.keytab is None else _MEMORY
    if cache is not None:
        _set_variable("KRB5CCNAME", cache)


def _set_variable(name: str, value: str) -> None:
    # Not in `os.environ`: the JVM that a worker starts may have a ticket cache of its own, such as for HDFS.
    os.putenv(name, value)


def _refusal(login: KerberosLogin, error: Any) -> ConfigError | RetriableKafkaError:
    if login.keytab is None:
        return _invalid(f"there is no Kerberos ticket: {reason(error)}; give a keyTab, or run kinit")
    if error.min_code == _KDC_UNREACHABLE:
        return RetriableKafkaError(f"Cannot log in to Kerberos {login}: {reason(error)}")
    if error.min_code == _NOTHING_IN_CACHE:
        return _invalid(f"keyTab {login.keytab} has no key of {login.principal or 'any principal'}")
    return _invalid(f"there is no Kerberos ticket to be had {login}: {reason(error)}")


def _invalid(why: str) -> ConfigError:
    return ConfigError(f"Invalid configuration {JAAS}: {why}", JAAS)
