# SPDX-License-Identifier: Apache-2.0
"""Properties of a worker for authentication and authorization of its users."""

from __future__ import annotations

import ipaddress
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import LambdaValidator, NonEmptyString, Range, ValidList

AUTHENTICATION: Final = "rest.authentication"
BASIC: Final = "basic"
JWT: Final = "jwt"
CERTIFICATE: Final = "certificate"
PROXY: Final = "proxy"
CREDENTIALS_FILE: Final = "rest.basic.auth.credentials.file"
JWT_ISSUER: Final = "rest.jwt.issuer"
JWT_AUDIENCE: Final = "rest.jwt.audience"
JWT_KEYS_URL: Final = "rest.jwt.jwks.url"
JWT_USER_CLAIM: Final = "rest.jwt.user.claim"
JWT_GROUPS_CLAIM: Final = "rest.jwt.groups.claim"
PROXY_ADDRESSES: Final = "rest.proxy.addresses"
PROXY_USER_HEADER: Final = "rest.proxy.user.header"
PROXY_GROUPS_HEADER: Final = "rest.proxy.groups.header"
MAX_FAILURES: Final = "rest.authentication.max.failures"
AUTHORIZATION_FILE: Final = "rest.authorization.file"
AUDIT_FILE: Final = "rest.audit.file"
AUDIT_CHAIN: Final = "rest.audit.chain"


def _check_networks(name: str, value: list[str]) -> None:
    for network in value:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ConfigError.invalid(name, network, "an address or a network such as 10.1.0.0/16 expected") from error


def define_access(definition: ConfigDef) -> ConfigDef:
    """Add these properties to a worker's definition."""
    low = Importance.LOW
    # fmt: off
    return (
        definition
        .define(AUTHENTICATION, Type.LIST, "", importance=low, validator=ValidList(BASIC, JWT, CERTIFICATE, PROXY),
                doc="Methods by which users of the REST API authenticate: basic, jwt, certificate, proxy. Empty: no "
                    "authentication, except by REST extensions. headrace only.")
        .define(CREDENTIALS_FILE, Type.STRING, None, importance=low,
                doc="Properties file of user=password, or of user=hash by bcrypt or PBKDF2. headrace only.")
        .define(JWT_ISSUER, Type.STRING, None, importance=low,
                doc="Issuer of bearer tokens, as in their claim iss. headrace only.")
        .define(JWT_AUDIENCE, Type.STRING, None, importance=low,
                doc="Audience that bearer tokens must have in their claim aud. headrace only.")
        .define(JWT_KEYS_URL, Type.STRING, None, importance=low,
                doc="URL of the issuer's key set (JWKS); by default the one that the issuer's "
                    "/.well-known/openid-configuration names. headrace only.")
        .define(JWT_USER_CLAIM, Type.STRING, "sub", importance=low, validator=NonEmptyString(),
                doc="Claim with the user's name. headrace only.")
        .define(JWT_GROUPS_CLAIM, Type.STRING, "groups", importance=low, validator=NonEmptyString(),
                doc="Claim with the user's groups. headrace only.")
        .define(PROXY_ADDRESSES, Type.LIST, "", importance=low,
                validator=LambdaValidator(_check_networks, lambda: "addresses or networks"),
                doc="Addresses or networks of the proxies that are trusted to name the user. headrace only.")
        .define(PROXY_USER_HEADER, Type.STRING, "X-Forwarded-User", importance=low, validator=NonEmptyString(),
                doc="Header in which they name the user. headrace only.")
        .define(PROXY_GROUPS_HEADER, Type.STRING, "X-Forwarded-Groups", importance=low, validator=NonEmptyString(),
                doc="Header in which they name the user's groups, separated by commas. headrace only.")
        .define(MAX_FAILURES, Type.INT, 10, importance=low, validator=Range.at_least(1),
                doc="Failed logins of an address within a minute after which its further logins in that minute are "
                    "answered 429. headrace only.")
        .define(AUTHORIZATION_FILE, Type.STRING, None, importance=low,
                doc="YAML file with the rules for users' rights; without one every user may do everything. It is "
                    "read again when it changes. headrace only.")
        .define(AUDIT_FILE, Type.STRING, None, importance=low,
                doc="File to which a line of JSON is written for each decision about a request. headrace only.")
        .define(AUDIT_CHAIN, Type.BOOLEAN, False, importance=low,
                doc="Whether each line contains the hash of the line before it, so that changes can be detected. "
                    "headrace only.")
    )
    # fmt: on
