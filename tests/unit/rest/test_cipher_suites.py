# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ssl

import pytest

from headrace.rest.server.tls import openssl_name, restrict_suites

NEW = ["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"]
OLD = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def restricted(*names: str, lowest: ssl.TLSVersion = V2, highest: ssl.TLSVersion = V3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = lowest, highest
    restrict_suites(context, names)
    return context


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        (OLD, "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_javas_names_are_openssls(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    assert openssl in {each["name"] for each in restricted(java).get_ciphers()}


def test_lists_of_openssls_are_taken_too() -> None:
    """Kafka's clients take them, and a property without a prefix is theirs as well."""
    found = restricted("ECDHE+AESGCM:!AES128")
    assert found.maximum_version is V2
    assert {each["name"] for each in found.get_ciphers() if each["protocol"] == "TLSv1.2"} == {
        "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
    }


def test_versions_without_a_suite_are_off_as_in_java() -> None:
    versions = [(each.minimum_version, each.maximum_version) for each in (restricted(OLD), restricted(*NEW))]
    assert versions == [(V2, V2), (V3, V3)]
    both = restricted(OLD, *NEW)
    assert (both.minimum_version, both.maximum_version) == (V2, V3)
    assert restricted(OLD, NEW[0], highest=V2).maximum_version is V2


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([OLD, NEW[0]], "cannot leave out single suites of TLS 1.3: name all of TLS_AES_128"),
        (["TLS_RSA_WITH_ROT13"], "OpenSSL has no suite 'TLS_RSA_WITH_ROT13'"),
    ],
)
def test_what_cannot_be_done_is_refused(names: list[str], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        restricted(*names)


def test_no_version_may_be_left() -> None:
    with pytest.raises(ValueError, match="none of the enabled versions of TLS"):
        restricted(OLD, lowest=V3)
    with pytest.raises(ValueError, match="none of the enabled versions of TLS"):
        restricted(*NEW, highest=V2)
