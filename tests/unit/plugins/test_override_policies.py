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
from headrace.config.override_policy import DEFAULT_ALLOWLIST
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
        (None, ["linger.ms", "client.id"], ["bootstrap.servers", "sasl.jaas.config"]),
        ("Allowlist", ["linger.ms"], ["sasl.jaas.config", "interceptor.classes"]),
        (f"{JAVA}.AllowlistConnectorClientConfigOverridePolicy", ["linger.ms"], ["sasl.jaas.config"]),
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


def test_the_default_loads_no_classes_and_reads_no_files() -> None:
    dangerous = ("jaas", "class", "url", "file", "location", "keystore", "truststore", "reporters", "handler", "kinit")
    assert not [name for name in DEFAULT_ALLOWLIST if any(part in name for part in dangerous)]
    assert not {"sasl.mechanism", "security.protocol", "security.providers", "bootstrap.servers"} & {*DEFAULT_ALLOWLIST}


def test_an_allowlist_of_the_workers_own() -> None:
    chosen = policy(connector_client_config_override_allowlist="interceptor.classes, acks")
    assert allowed(chosen, "interceptor.classes")
    assert allowed(chosen, "acks")
    assert not allowed(chosen, "linger.ms")
    assert not allowed(policy(connector_client_config_override_allowlist=""), "linger.ms")


def test_the_first_refusal_is_told_with_the_property_that_mends_it() -> None:
    config = {"name": "c", "consumer.override.max.poll.records": "1", "admin.override.security.providers": "evil"}
    with pytest.raises(ConfigError) as raised:
        check_overrides(policy(), config, None, False)
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
