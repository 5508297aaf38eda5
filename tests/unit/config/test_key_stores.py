# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from headrace.api.errors import ConfigError
from headrace.config.jks import WrongPasswordError, read_jks
from headrace.config.key_stores import read_identity, read_trusted
from headrace.kafka.clients.client_config import producer_config
from headrace.kafka.clients.tls_properties import client_context
from tests.support.key_material import KEY_PASSWORD, PASSWORD, KeyMaterial

BOOTSTRAP: Final = {"bootstrap.servers": "localhost:1", "security.protocol": "SSL"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeyMaterial:
    return KeyMaterial(tmp_path_factory.mktemp("keys"))


def store(keys: KeyMaterial, name: str, kind: str = "", password: str = PASSWORD) -> dict[str, str]:
    props = {"ssl.keystore.location": keys.path(name), "ssl.keystore.password": password}
    return props | ({"ssl.keystore.type": kind} if kind else {})


@pytest.mark.parametrize(
    "props",
    [
        ("client.p12", "PKCS12"),
        ("client.p12", "JKS"),
        ("client.p12", ""),
        ("client.jks", "jks"),
        ("client.jks", "PKCS12"),
        ("client.jks", ""),
    ],
    ids=str,
)
def test_stores_are_known_by_what_is_in_them(keys: KeyMaterial, props: tuple[str, str]) -> None:
    found = read_identity(store(keys, *props))
    assert found is not None
    assert found.chain == keys.chain
    assert found == read_identity(
        {
            "ssl.keystore.key": keys.encrypted_key.replace("\n", ""),
            "ssl.keystore.certificate.chain": keys.chain.replace("\n", "  "),
            "ssl.key.password": KEY_PASSWORD,
        }
    )


def test_the_chain_is_in_order_whatever_the_file_has(keys: KeyMaterial, tmp_path: Path) -> None:
    end = "-----END CERTIFICATE-----\n"
    backwards = "".join(part + end for part in reversed(keys.chain.split(end)[:-1]))
    (tmp_path / "keys").write_text(backwards + keys.key)
    found = read_identity({"ssl.keystore.location": str(tmp_path / "keys")})
    assert found is not None and found.chain == keys.chain


@pytest.mark.parametrize("name", ["ca.pem", "trust.p12", "trust.jks"])
def test_whom_to_trust(keys: KeyMaterial, name: str) -> None:
    props = {"ssl.truststore.location": keys.path(name)}
    password = {} if name == "ca.pem" else {"ssl.truststore.password": PASSWORD}
    assert read_trusted(props | password) == keys.trusted


def test_as_in_java_a_jks_truststore_needs_no_password(keys: KeyMaterial) -> None:
    assert read_trusted({"ssl.truststore.location": keys.path("trust.jks")}) == keys.trusted


def test_nothing_said_is_nothing_read() -> None:
    assert read_identity({"ssl.keystore.type": "JKS"}) is None
    assert read_trusted({"ssl.truststore.password": "x"}) is None
    unread = {**BOOTSTRAP, "security.protocol": "PLAINTEXT", "ssl.truststore.location": "/nowhere"}
    assert "ssl.ca.pem" not in producer_config(unread)


def test_both_clients_get_the_same_in_memory(keys: KeyMaterial) -> None:
    props = BOOTSTRAP | store(keys, "client.jks") | {"ssl.truststore.certificates": keys.trusted}
    config = producer_config(props)
    assert (config["ssl.ca.pem"], config["ssl.certificate.pem"]) == (keys.trusted, keys.chain)
    assert "PRIVATE KEY" in config["ssl.key.pem"]
    assert not {"ssl.keystore.location", "ssl.keystore.password"} & config.keys()
    assert len(client_context(props).get_ca_certs()) == 1


def mistaken(keys: KeyMaterial, tmp_path: Path) -> dict[str, tuple[dict[str, str], str]]:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "jceks").write_bytes(b"\xce\xce\xce\xce rest")
    (tmp_path / "cut").write_bytes(Path(keys.path("client.jks")).read_bytes()[:500])
    location = "ssl.keystore.location"
    return {
        "missing": ({location: "/nowhere"}, f"'/nowhere' for configuration {location}: .*No such file"),
        "type": (store(keys, "client.p12", "BCFKS"), "'BCFKS' for configuration ssl.keystore.type.*JKS, PEM, PKCS12"),
        "p12 password": (
            store(keys, "client.p12", "", "wr0ng"),
            "keystore.password: it does not open .*client.p12",
        ),
        "jks password": (
            store(keys, "client.jks", "", "wr0ng"),
            "keystore.password: it does not open .*client.jks",
        ),
        "no password": ({location: keys.path("client.p12")}, "ssl.keystore.password: it is needed for .*client.p12"),
        "key password": (
            store(keys, "client.jks") | {"ssl.key.password": "wr0ng"},
            "ssl.key.password: the key in .*client.jks has another",
        ),
        "PEM key password": (
            store(keys, "client.pem") | {"ssl.key.password": "wr0ng"},
            "ssl.key.password: it is not the password",
        ),
        "PEM no password": (store(keys, "client.pem"), "ssl.key.password: it is needed"),
        "PEM as JKS": (store(keys, "client.pem", "JKS"), f"client.pem' for configuration {location}.*it is PEM; see"),
        "no key": (store(keys, "trust.jks"), f"trust.jks' for configuration {location}: there is no private key"),
        "PEM no key": (store(keys, "ca.pem"), f"ca.pem' for configuration {location}: there is no private key"),
        "what": ({location: str(tmp_path / "text")}, f"for configuration {location}.*none of them"),
        "JCEKS": ({location: str(tmp_path / "jceks")}, "JCEKS.*keytool"),
        "cut": ({location: str(tmp_path / "cut")}, f"for configuration {location}: it is cut off or damaged"),
        "half": ({"ssl.keystore.key": keys.key}, "Missing configuration ssl.keystore.certificate.chain"),
        "inline JKS": (
            {"ssl.keystore.key": keys.key, "ssl.keystore.certificate.chain": keys.chain, "ssl.keystore.type": "JKS"},
            "'JKS' for configuration ssl.keystore.type",
        ),
        "others": (
            {"ssl.keystore.key": keys.key, "ssl.keystore.certificate.chain": keys.trusted},
            "ssl.keystore.key: none of the certificates is that of the private key",
        ),
        "garbage": (
            {"ssl.keystore.key": "secret", "ssl.keystore.certificate.chain": "secret"},
            "ssl.keystore.key: there is no private key in PEM",
        ),
    }


def test_mistakes_name_the_property_and_no_secret(keys: KeyMaterial, tmp_path: Path) -> None:
    for case, (props, expected) in mistaken(keys, tmp_path).items():
        with pytest.raises(ConfigError, match=expected) as caught:
            read_identity(props)
        assert caught.value.name in str(caught.value), case
        for secret in ("wr0ng", PASSWORD, "PRIVATE KEY", "secret"):
            assert secret not in f"{caught.value} {caught.value.value}", case


def test_mistakes_of_truststores(keys: KeyMaterial) -> None:
    def read(**props: str) -> None:
        read_trusted({f"ssl.truststore.{name}": value for name, value in props.items()})

    with pytest.raises(ConfigError, match=r"ssl\.truststore\.password: it does not open"):
        read(location=keys.path("trust.jks"), password="wrong")
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location: there is no certificate to trust"):
        read(location=keys.path("client.jks"), password=PASSWORD)
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.certificates: there is no certificate in PEM"):
        read(certificates="none")
    with pytest.raises(
        ConfigError, match=r"ssl\.truststore\.location: what to trust is given by ssl\.truststore\.cert"
    ):
        read(certificates=keys.trusted, location=keys.path("trust.jks"))


def test_a_changed_jks_store_is_refused(keys: KeyMaterial) -> None:
    data = bytearray(Path(keys.path("trust.jks")).read_bytes())
    data[40] ^= 1
    with pytest.raises(WrongPasswordError):
        read_jks(bytes(data), PASSWORD)


def test_damaged_certificates_are_a_mistake_of_the_file(keys: KeyMaterial, tmp_path: Path) -> None:
    """Without a password it is not checked whether a JKS file was changed, so what is in it may be anything."""
    data = bytearray(Path(keys.path("trust.jks")).read_bytes())
    at = data.index(b"X.509") + len("X.509") + 4
    for flipped in range(at, at + 60):
        changed = data[:flipped] + bytes([data[flipped] ^ 0xFF]) + data[flipped + 1 :]
        (tmp_path / "store").write_bytes(changed)
        try:
            read_trusted({"ssl.truststore.location": str(tmp_path / "store")}, "listeners.https.")
        except ConfigError as error:
            assert "for configuration listeners.https.ssl.truststore.location" in str(error)
    with pytest.raises(ConfigError, match=r"what is in it cannot be read|it is cut off"):
        read_trusted({"ssl.truststore.location": _written(tmp_path, data[:at] + b"\xff" * 40 + data[at + 40 :])})


def _written(directory: Path, data: bytes) -> str:
    (directory / "written").write_bytes(data)
    return str(directory / "written")
