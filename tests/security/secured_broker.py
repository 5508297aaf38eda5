# SPDX-License-Identifier: Apache-2.0
"""One broker with a listener for each way to reach Kafka, that lets in known principals alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.acls import AUTHORIZER, Rule, add_rules
from tests.support.key_material import CLIENT, KeyMaterial
from tests.support.oidc_server import CLIENT_ID, OidcServer

USER: Final = "alice"
PASSWORD: Final = 'pass "word\\;='
_LISTENERS: Final = {"SSL": "SSL", "MTLS": "SSL", "SASL": "SASL_SSL"}
_JAAS: Final = "org.apache.kafka.common.security"
REAUTHENTICATION_MS: Final = 3_600_000
"""With it a broker ends a connection whose token has expired, if there is no newer one."""


class SecuredBroker:
    """``plain`` is the listener without any protection; ``servers`` are the others, by name."""

    def __init__(self, keys: KeyMaterial, oidc: OidcServer) -> None:
        self._ports = {name: free_port() for name in _LISTENERS}
        self.servers = {name: f"127.0.0.1:{port}" for name, port in self._ports.items()}
        self.broker = EmbeddedBroker(
            port=0,
            properties=self._properties(keys, oidc),
            jvm_options=(
                *QUICK_START_JVM_OPTIONS,
                f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={oidc.jwks_url}",
            ),
            proxies={port: port for port in self._ports.values()},
        )
        self.plain = self.broker.bootstrap_servers

    def _properties(self, keys: KeyMaterial, oidc: OidcServer) -> dict[str, str]:
        protocols = {f"PROXIED{self._ports[name]}": protocol for name, protocol in _LISTENERS.items()}
        mapped = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **protocols}
        mtls, sasl = (f"listener.name.proxied{self._ports[name]}" for name in ("MTLS", "SASL"))
        return {
            **AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in mapped.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys.server("127.0.0.1")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": keys.path("ca.pem"),
            f"{mtls}.ssl.client.auth": "required",
            f"{mtls}.ssl.principal.mapping.rules": "RULE:^.*CN=([^,]*).*$/$1/",
            f"{sasl}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            f"{sasl}.plain.sasl.jaas.config": _PLAIN_USERS,
            f"{sasl}.scram-sha-256.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
            f"{sasl}.scram-sha-512.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
            f"{sasl}.oauthbearer.sasl.jaas.config": f"{_JAAS}.oauthbearer.OAuthBearerLoginModule required;",
            f"{sasl}.oauthbearer.sasl.server.callback.handler.class": (
                f"{_JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler"
            ),
            f"{sasl}.oauthbearer.connections.max.reauth.ms": str(REAUTHENTICATION_MS),
            f"{sasl}.sasl.oauthbearer.jwks.endpoint.url": oidc.jwks_url,
            f"{sasl}.sasl.oauthbearer.expected.audience": "",
        }

    def let_in(self) -> None:
        """Give those who log in the rights of a worker whose group, topics and connectors begin with ``t``."""
        add_rules(self.plain, *(rule for name in (CLIENT, USER, CLIENT_ID) for rule in rights(name)))

    def add_user(self) -> None:
        """Make the user known to SCRAM."""
        admin = AdminClient({"bootstrap.servers": self.plain})
        kinds = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        wanted = [
            UserScramCredentialUpsertion(USER, ScramCredentialInfo(kind, 4096), PASSWORD.encode()) for kind in kinds
        ]
        for each in wanted:
            for altered in admin.alter_user_scram_credentials([each]).values():
                altered.result(30)


def rights(principal: str) -> list[Rule]:
    """Return what docs/exactly-once.md lists, and what every worker needs, for one principal."""
    operations = {
        (ResourceType.TOPIC, "t"): ("CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS"),
        (ResourceType.GROUP, "t"): ("READ",),
        (ResourceType.GROUP, "connect-t"): ("READ",),
        (ResourceType.TRANSACTIONAL_ID, "t"): ("WRITE", "DESCRIBE"),
        (ResourceType.TRANSACTIONAL_ID, "connect-cluster-t"): ("WRITE", "DESCRIBE"),
    }
    who = (f"User:{principal}", "*")
    return [
        (kind, prefix, ResourcePatternType.PREFIXED, *who, AclOperation[name], AclPermissionType.ALLOW)
        for (kind, prefix), names in operations.items()
        for name in names
    ]


def quoted(text: str) -> str:
    """Return ``text`` as a value in a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_PLAIN_USERS: Final = f"{_JAAS}.plain.PlainLoginModule required user_{USER}={quoted(PASSWORD)};"


@contextmanager
def secured_broker(keys: KeyMaterial, oidc: OidcServer) -> Iterator[SecuredBroker]:
    secured = SecuredBroker(keys, oidc)
    with secured.broker:
        secured.let_in()
        secured.add_user()
        yield secured
