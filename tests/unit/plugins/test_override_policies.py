# SPDX-License-Identifier: Apache-2.0
"""Which client properties a connector may override."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headrace.api.config_def import ConfigValue
from headrace.api.errors import ConfigError
from headrace.api.policy import ClientType, ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest
from headrace.config.distributed_config import DistributedConfig
from headrace.plugins.discovery import Plugins
from headrace.plugins.override_policies import check_overrides, override_policy, override_values

JAVA = "org.apache.kafka.connect.connector.policy"
WORKER = {
    "group.id": "g",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    **{f"{topic}.storage.topic": topic for topic in ("config", "offset", "status")},
}


class Curious(ConnectorClientConfigOverridePolicy):
    """A user's own: remembers what it was asked."""

    requests: list[ConnectorClientConfigRequest] = []

    def configure(self, configs: Mapping[str, Any]) -> None:
        if configs.get("curious.fail"):
            raise KeyError("no")

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        self.requests.append(request)
        return [ConfigValue("linger.ms", "5", error_messages=["no hurry"])]


class Silent(ConnectorClientConfigOverridePolicy):
    """A user's own that has nothing to say."""

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        return []


def policy(name: str | None = None, **more: str) -> ConnectorClientConfigOverridePolicy:
    properties = {**WORKER, **{key.replace("_", "."): value for key, value in more.items()}}
    if name is not None:
        properties["connector.client.config.override.policy"] = name
    return override_policy(DistributedConfig(properties), Plugins())


def allowed(policy: ConnectorClientConfigOverridePolicy, name: str) -> bool:
    judged = override_values(policy, {"name": "c", f"producer.override.{name}": "5"}, None, True)
    assert [value.name for value in judged] == [f"producer.override.{name}"]
    return not judged[0].error_messages


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        (None, ["linger.ms", "bootstrap.servers", "sasl.jaas.config", "interceptor.classes"], []),
        ("Allowlist", [], ["linger.ms", "sasl.jaas.config"]),
        (f"{JAVA}.AllowlistConnectorClientConfigOverridePolicy", [], ["linger.ms", "sasl.jaas.config"]),
        (f"{JAVA}.AllConnectorClientConfigOverridePolicy", ["sasl.jaas.config"], []),
        (f"{JAVA}.NoneConnectorClientConfigOverridePolicy", [], ["linger.ms"]),
        ("All", ["bootstrap.servers", "sasl.jaas.config"], []),
        ("AllConnectorClientConfigOverridePolicy", ["bootstrap.servers"], []),
        ("None", [], ["linger.ms", "sasl.jaas.config"]),
        ("Principal", ["sasl.jaas.config", "sasl.mechanism", "security.protocol"], ["linger.ms"]),
        (f"{JAVA}.PrincipalConnectorClientConfigOverridePolicy", ["sasl.jaas.config"], ["linger.ms"]),
    ],
)
def test_policies_by_name(name: str | None, yes: list[str], no: list[str]) -> None:
    chosen = policy(name)
    assert all(allowed(chosen, each) for each in yes)
    assert not any(allowed(chosen, each) for each in no)


def test_an_allowlist() -> None:
    chosen = policy("Allowlist", connector_client_config_override_allowlist="interceptor.classes, acks")
    assert allowed(chosen, "interceptor.classes")
    assert allowed(chosen, "acks")
    assert not allowed(chosen, "linger.ms")
    assert not allowed(policy("Allowlist", connector_client_config_override_allowlist=""), "linger.ms")
    assert allowed(policy(connector_client_config_override_allowlist=""), "linger.ms"), "another policy has no list"


def test_principal_is_deprecated(caplog: pytest.LogCaptureFixture) -> None:
    policy("Principal")
    assert caplog.messages == [
        "connector.client.config.override.policy=Principal is deprecated: Allowlist with "
        "connector.client.config.override.allowlist=sasl.jaas.config,sasl.mechanism,security.protocol does the same"
    ]


TOKENS = "sasl.oauthbearer.token.endpoint.url"
KEYS = "sasl.oauthbearer.jwks.endpoint.url"
ASSERTION = "sasl.oauthbearer.assertion.file"
LISTED = {
    "org.apache.kafka.sasl.oauthbearer.allowed.urls": "https://a/token, https://b/token",
    "org.apache.kafka.sasl.oauthbearer.allowed.files": "/etc/assertion",
}


@pytest.mark.parametrize("client", ["producer", "consumer", "admin"])
@pytest.mark.parametrize("chosen", ["All", "Allowlist", f"{__name__}:Silent"])
@pytest.mark.parametrize(
    ("name", "value", "listed"),
    [
        (TOKENS, "https://a/token", True),
        (TOKENS, "https://a/token/", False),
        (TOKENS, "file:///etc/passwd", False),
        (TOKENS, "/etc/assertion", False),
        (KEYS, "https://b/token", True),
        (KEYS, "https://c", False),
        (ASSERTION, "/etc/assertion", True),
        (ASSERTION, "/etc/passwd", False),
        ("sasl.oauthbearer.assertion.private.key.file", "/etc/key", False),
    ],
)
def test_tokens_come_from_where_the_worker_lists(client: str, chosen: str, name: str, value: str, listed: bool) -> None:
    allowlist = {"connector.client.config.override.allowlist": ",".join((TOKENS, KEYS, ASSERTION))}
    config = {"name": "c", f"{client}.override.{name}": value}
    kind = "files" if name.endswith(".file") else "urls"
    for more, allowed_here in (({}, False), (LISTED, listed)):
        properties = {**WORKER, **more, **allowlist, "connector.client.config.override.policy": chosen}
        judged = override_values(override_policy(DistributedConfig(properties), Plugins()), config, None, True)
        reported = {(value.name, message) for value in judged for message in value.error_messages}
        reason = f"Clients may only be led to what the worker's org.apache.kafka.sasl.oauthbearer.allowed.{kind} lists."
        assert ((f"{client}.override.{name}", reason) not in reported) == allowed_here


@pytest.mark.parametrize("prefix", ["", "producer.", "consumer."])
def test_tokens_come_from_where_the_worker_has_its_own(prefix: str) -> None:
    properties = {**WORKER, f"{prefix}{TOKENS}": "https://own/token"}
    chosen = override_policy(DistributedConfig(properties), Plugins())
    check_overrides(chosen, {"name": "c", f"producer.override.{TOKENS}": "https://own/token"}, None, True)
    with pytest.raises(ConfigError, match=r"allowed\.urls lists"):
        check_overrides(chosen, {"name": "c", f"producer.override.{TOKENS}": "https://other"}, None, True)


def test_no_connector_runs_a_command() -> None:
    config = {"name": "c", "admin.override.sasl.kerberos.kinit.cmd": "touch /tmp/owned"}
    with pytest.raises(ConfigError, match="names a program to run: only the worker's own properties may set it"):
        check_overrides(policy("All"), config, None, True)


def test_the_first_refusal_is_reported_with_the_property_that_mends_it() -> None:
    config = {"name": "c", "consumer.override.max.poll.records": "1", "admin.override.security.providers": "evil"}
    with pytest.raises(ConfigError) as raised:
        check_overrides(
            policy("Allowlist", connector_client_config_override_allowlist="max.poll.records"), config, None, False
        )
    assert str(raised.value) == (
        "Invalid value 'evil' for configuration admin.override.security.providers: The 'Allowlist' policy does not "
        "allow 'security.providers' to be overridden in the connector configuration. The worker's "
        "connector.client.config.override.allowlist lists what may be."
    )
    check_overrides(policy("All"), config, None, False)


def test_what_the_worker_sets_itself_needs_no_permission() -> None:
    config = {
        "name": "c",
        "producer.override.transactional.id": "mine",
        "producer.override.enable.idempotence": "false",
    }
    assert override_values(policy("None"), config, None, True) == []


def test_a_policy_of_the_users_own() -> None:
    Curious.requests.clear()
    chosen = policy(f"{__name__}:Curious")
    config = {"name": "c", "producer.override.linger.ms": "5", "admin.override.x": None, "consumer.override.y": "1"}
    judged = override_values(chosen, config, Plugins, True)
    assert [value.name for value in judged] == ["producer.override.linger.ms", "consumer.override.linger.ms"]
    assert Curious.requests[0] == ConnectorClientConfigRequest(
        {"linger.ms": "5"}, ClientType.PRODUCER, "c", Plugins, True
    )
    with pytest.raises(ConfigError, match="no hurry"):
        check_overrides(chosen, config, Plugins, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "Everything",
            r"'Everything' for configuration connector\.client\.config\.override\.policy: no such client over",
        ),
        ("StringConverter", "no such client override policy"),
        ("headrace.converters.string_converter:StringConverter", "is not a client override policy"),
        (f"{__name__}:Curious", "KeyError: 'no'"),
    ],
)
def test_a_worker_without_a_usable_policy_does_not_start(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        policy(name, curious_fail="1")
