# SPDX-License-Identifier: Apache-2.0
"""Java's security properties in librdkafka's and kafka-python's terms: TLS of ``tls_properties``, and logins.

Java: ``SaslConfigs``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.kafka.clients.kerberos import kerberos_login, log_in
from headrace.kafka.clients.oauth_settings import oauth_settings
from headrace.kafka.clients.oauth_tokens import TokenSource, token_source
from headrace.kafka.clients.tls_properties import kafka_python_tls, librdkafka_tls

_JAAS_OPTION = re.compile(r"""([A-Za-z_][\w.]*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
GSSAPI: Final = "GSSAPI"
_SERVICE: Final = "sasl.kerberos.service.name"
_NEVER_KINIT: Final = {"sasl.kerberos.min.time.before.relogin": "0"}


def librdkafka_security(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's settings of stores, host name checks and logins. Reads keys, requests tokens."""
    result: dict[str, Any] = {**librdkafka_tls(props), **_login(props)}
    if uses_sasl(props, GSSAPI):
        _log_in_to_kerberos(props)
        result.update(_NEVER_KINIT)
    if uses_sasl(props, "OAUTHBEARER"):
        result["oauth_cb"] = _tokens(props).for_librdkafka
    return result


def kafka_python_security(props: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's settings of stores, host name checks and logins. Reads keys, requests tokens."""
    protocol = props.get("security.protocol", "PLAINTEXT").upper()
    result: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        result["ssl_context"] = kafka_python_tls(props)
    if protocol.startswith("SASL"):
        result.update(_kafka_python_login(props))
    return result


def uses_sasl(props: Mapping[str, str], mechanism: str) -> bool:
    """Return True if a client logs in by ``mechanism``; Java's default is GSSAPI."""
    secured = props.get("security.protocol", "PLAINTEXT").upper().startswith("SASL")
    return secured and props.get("sasl.mechanism", GSSAPI).upper() == mechanism


def principal(props: Mapping[str, str]) -> str | None:
    """Return the principal that brokers see by default, as in ``User:connect``; None if only they know it.

    A certificate's name, and that of a token, go through rules of the brokers.
    """
    protocol = props.get("security.protocol", "PLAINTEXT").upper()
    if not protocol.startswith("SASL"):
        return None if protocol == "SSL" else "User:ANONYMOUS"
    _, options = jaas_options(props.get("sasl.jaas.config", ""))
    name = options.get("username") or props.get("sasl.username")
    return f"User:{name}" if name else None


def _kafka_python_login(props: Mapping[str, str]) -> dict[str, Any]:
    login = _login(props)
    result = {
        "sasl_mechanism": props.get("sasl.mechanism", GSSAPI),
        "sasl_plain_username": login.get("sasl.username"),
        "sasl_plain_password": login.get("sasl.password"),
    }
    if uses_sasl(props, "OAUTHBEARER"):
        from headrace.kafka.clients.kafka_python_sasl import TokenProvider

        result["sasl_oauth_token_provider"] = TokenProvider(_tokens(props))
    if uses_sasl(props, GSSAPI):
        _log_in_to_kerberos(props)
        from headrace.kafka.clients.kafka_python_sasl import register_kerberos

        register_kerberos()
    if _SERVICE in {**props, **login}:
        result["sasl_kerberos_service_name"] = {**props, **login}[_SERVICE]
    return result


def _log_in_to_kerberos(props: Mapping[str, str]) -> None:
    _, options = jaas_options(props.get("sasl.jaas.config", ""))
    log_in(kerberos_login(props, options))


def _tokens(props: Mapping[str, str]) -> TokenSource:
    _, options = jaas_options(props.get("sasl.jaas.config", ""))
    return token_source(oauth_settings(props, options))


def jaas_options(text: str) -> tuple[str, dict[str, str]]:
    """Return the class of the login module in a ``sasl.jaas.config``, and its options."""
    module, rest = (*text.split(None, 1), "", "")[:2]
    options = {name: _unquoted(value) for name, value in _JAAS_OPTION.findall(rest)}
    return module, options


def _unquoted(value: str) -> str:
    if value[:1] in "\"'" and len(value) >= 2:
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def _login(props: Mapping[str, str]) -> dict[str, str]:
    direct = {name: props[name] for name in ("sasl.username", "sasl.password") if name in props}
    if "sasl.jaas.config" not in props:
        return direct
    module, options = jaas_options(props["sasl.jaas.config"])
    kind = module.rpartition(".")[2]
    if kind in ("PlainLoginModule", "ScramLoginModule"):
        wanted = {"sasl.username": "username", "sasl.password": "password"}
    elif kind == "OAuthBearerLoginModule":
        wanted = {}  # its options are read by oauth_settings
    elif kind == "Krb5LoginModule":
        wanted = {_SERVICE: "serviceName"}  # its other options are read by kerberos_login
    else:
        # The value holds a password: a message may name the module, never the value.
        raise ConfigError(
            f"Invalid configuration sasl.jaas.config: login module {kind or '(none)'} is not supported; use "
            "PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule or Krb5LoginModule",
            "sasl.jaas.config",
        )
    return {**direct, **{ours: options[java] for ours, java in wanted.items() if java in options}}
