# SPDX-License-Identifier: Apache-2.0
"""Java's TLS and SASL properties in librdkafka's and kafka-python's terms. Java: ``SslConfigs``, ``SaslConfigs``."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from headrace.api.errors import ConfigError

_JAAS_OPTION = re.compile(r"""([A-Za-z_][\w.]*)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_PEM_SUFFIXES = frozenset({".pem", ".crt", ".cer", ".key"})
_PKCS12_SUFFIXES = frozenset({".p12", ".pfx", ".pkcs12"})


def librdkafka_security(props: Mapping[str, str]) -> dict[str, Any]:
    """What ``props`` say about stores, host name checks and logins, in librdkafka's terms."""
    return {**_truststore(props), **_keystore(props), **_host_name_check(props), **_login(props)}


def kafka_python_security(props: Mapping[str, str]) -> dict[str, Any]:
    """The same for kafka-python."""
    protocol = props.get("security.protocol", "PLAINTEXT").upper()
    result: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        result["ssl_context"] = _ssl_context(props)
    if protocol.startswith("SASL"):
        login = _login(props)
        result["sasl_mechanism"] = props.get("sasl.mechanism", "GSSAPI")
        result["sasl_plain_username"] = login.get("sasl.username")
        result["sasl_plain_password"] = login.get("sasl.password")
        if "sasl.kerberos.service.name" in props:
            result["sasl_kerberos_service_name"] = props["sasl.kerberos.service.name"]
    return result


def jaas_options(text: str) -> tuple[str, dict[str, str]]:
    """The login module's class and its options of one ``sasl.jaas.config``."""
    module, _, rest = text.strip().partition(" ")
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
        wanted = {
            "sasl.oauthbearer.client.id": "clientId",
            "sasl.oauthbearer.client.secret": "clientSecret",
            "sasl.oauthbearer.scope": "scope",
        }
        direct = {**direct, "sasl.oauthbearer.method": "oidc"}
    elif kind == "Krb5LoginModule":
        wanted = {"sasl.kerberos.keytab": "keyTab", "sasl.kerberos.principal": "principal"}
    else:
        # The value holds a password: a message may name the module, never the value.
        raise ConfigError(
            f"Invalid configuration sasl.jaas.config: login module {kind or '(none)'} is not supported; use "
            "PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule or Krb5LoginModule",
            "sasl.jaas.config",
        )
    return {**direct, **{ours: options[java] for ours, java in wanted.items() if java in options}}


def _host_name_check(props: Mapping[str, str]) -> dict[str, str]:
    name = "ssl.endpoint.identification.algorithm"
    return {name: props[name] or "none"} if name in props else {}


def _store_type(props: Mapping[str, str], store: str) -> str:
    """PEM, PKCS12 or JKS: as ``ssl.<store>.type`` says, else as the file's name tells, else Java's default."""
    given = props.get(f"ssl.{store}.type")
    if given:
        return given.upper()
    suffix = PurePath(props.get(f"ssl.{store}.location", "")).suffix.lower()
    return "PEM" if suffix in _PEM_SUFFIXES else "PKCS12" if suffix in _PKCS12_SUFFIXES else "JKS"


def _refuse(props: Mapping[str, str], store: str, kind: str, usable: str) -> ConfigError:
    name = f"ssl.{store}.location"
    return ConfigError.invalid(
        name, props.get(name), f"a {kind} {store} cannot be read; convert it to {usable} and set ssl.{store}.type"
    )


def _truststore(props: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in props:
        return {"ssl.ca.pem": props["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in props:
        return {}
    kind = _store_type(props, "truststore")
    if kind != "PEM":
        raise _refuse(props, "truststore", kind, "PEM")
    return {"ssl.ca.location": props["ssl.truststore.location"]}


def _keystore(props: Mapping[str, str]) -> dict[str, str]:
    if "ssl.keystore.certificate.chain" in props or "ssl.keystore.key" in props:
        inline = {
            "ssl.certificate.pem": props.get("ssl.keystore.certificate.chain", ""),
            "ssl.key.pem": props.get("ssl.keystore.key", ""),
        }
        return {name: value for name, value in inline.items() if value}
    location = props.get("ssl.keystore.location")
    if location is None:
        return {}
    kind = _store_type(props, "keystore")
    if kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if kind == "PKCS12":
        return {"ssl.keystore.location": location, "ssl.keystore.password": props.get("ssl.keystore.password", "")}
    raise _refuse(props, "keystore", kind, "PEM or PKCS12")


def _ssl_context(props: Mapping[str, str]) -> ssl.SSLContext:
    trust = {**_truststore(props), **{k: v for k, v in props.items() if k in ("ssl.ca.location", "ssl.ca.pem")}}
    context = ssl.create_default_context(cafile=trust.get("ssl.ca.location"), cadata=trust.get("ssl.ca.pem"))
    if _host_name_check(props).get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    keys = _keystore(props)
    certificate = keys.get("ssl.certificate.location", props.get("ssl.certificate.location"))
    if certificate is not None:
        key = props.get("ssl.key.location", keys.get("ssl.key.location"))
        context.load_cert_chain(certificate, key, props.get("ssl.key.password"))
    elif keys:
        raise ConfigError(
            "ssl.keystore: the group member needs the client's certificate as a PEM file: set ssl.keystore.type=PEM "
            "and ssl.keystore.location",
            "ssl.keystore.location",
        )
    return context
