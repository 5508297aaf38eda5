# SPDX-License-Identifier: Apache-2.0
"""The properties of session keys and signatures (KIP-507)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.api.errors import ConfigError
from headrace.config.distributed_config import DistributedConfig

MakeConfig = Callable[..., DistributedConfig]


def test_defaults_are_javas(make_config: MakeConfig) -> None:
    config = make_config()
    assert (config.key_algorithm.name, config.key_bytes, config.key_ttl_ms) == ("HmacSHA256", 32, 3_600_000)
    assert config.signature_algorithm.name == "HmacSHA256"
    assert [each.name for each in config.verification_algorithms] == ["HmacSHA256"]


@pytest.mark.parametrize(
    ("algorithm", "size", "length"),
    [
        ("HmacSHA1", None, 64),
        ("HmacMD5", None, 64),
        ("hmacsha384", None, 48),
        ("HmacSHA256", "40", 5),
        ("HmacSHA256", "41", 6),
    ],
)
def test_key_sizes_are_javas(algorithm: str, size: str | None, length: int, make_config: MakeConfig) -> None:
    given = {"inter.worker.key.generation.algorithm": algorithm} | ({"inter.worker.key.size": size} if size else {})
    assert make_config(**given).key_bytes == length


def test_other_algorithms(make_config: MakeConfig) -> None:
    config = make_config(
        **{
            "inter.worker.signature.algorithm": "HmacSHA512",
            "inter.worker.verification.algorithms": "HmacSHA256, HmacSHA512",
        }
    )
    assert config.signature_algorithm.hash_name == "sha512"
    assert [each.name for each in config.verification_algorithms] == ["HmacSHA256", "HmacSHA512"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("inter.worker.key.generation.algorithm", "AES", "one of HmacMD5, HmacSHA1"),
        ("inter.worker.key.size", "39", "at least 40 bits"),
        ("inter.worker.key.ttl.ms", "-1", "at least 0"),
        ("inter.worker.signature.algorithm", "none", "one of HmacMD5, HmacSHA1"),
        ("inter.worker.signature.algorithm", "HmacSHA512", "signature.algorithm=HmacSHA512 has to be among them"),
        ("inter.worker.verification.algorithms", "", "At least one"),
        ("inter.worker.verification.algorithms", "HmacSHA256,none", "one of HmacMD5, HmacSHA1"),
    ],
)
def test_values_that_cannot_be(name: str, value: str, message: str, make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        make_config(**{name: value})
    assert "inter.worker." in str(error.value)


@pytest.mark.parametrize(
    ("properties", "minimum"),
    [
        ({}, "eager"),
        ({"connect.protocol": "eager"}, "eager"),
        ({"connect.protocol.minimum": "Compatible"}, "compatible"),
        ({"rest.extension.classes": "X"}, "sessioned"),
        ({"rest.authentication": "jwt"}, "sessioned"),
        ({"rest.extension.classes": "X", "connect.protocol.minimum": "compatible"}, "compatible"),
        (
            {
                "rest.extension.classes": "X",
                "connect.protocol": "compatible",
                "connect.protocol.minimum": "compatible",
            },
            "compatible",
        ),
    ],
)
def test_the_least_that_a_group_may_speak(properties: dict[str, str], minimum: str, make_config: MakeConfig) -> None:
    assert make_config(**properties).connect_protocol_minimum == minimum


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"connect.protocol": "compatible", "rest.extension.classes": "X"},
            "configuration connect.protocol: .*rest.extension.classes.*connect.protocol.minimum=compat",
        ),
        (
            {"connect.protocol": "eager", "connect.protocol.minimum": "compatible"},
            "'eager' for configuration connect.protocol: connect.protocol.minimum=compatible forbids it",
        ),
        ({"connect.protocol.minimum": "secret"}, "connect.protocol.minimum: one of eager, compatible, sessioned"),
    ],
)
def test_protocols_that_contradict(properties: dict[str, str], message: str, make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(**properties)
