# SPDX-License-Identifier: Apache-2.0
"""Which names are those of secrets, and which values are references."""

from __future__ import annotations

import pytest

from headrace.config.secret_properties import is_reference, is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        *("password", "sslPassword", "sfPassword", "db_pwd", "passphrase", "es.net.http.auth.pass", "redis.auth"),
        *("secret", "fs.s3a.secret.key", "clientSecret", "accessToken", "sasToken", "sas", "fs.azure.sas.box.account"),
        *("access.key", "accessKeyId", "fs.azure.account.key.x", "account-key", "apiKey", "api_key", "private_key"),
        *("pem_private_key", "shared-access-key", "ssl.keystore.key", "ssl.keystore.certificate.chain"),
        *("credentials", "credentialsFile", "sasl.jaas.config", "keytab", "http.headers.authorization"),
        *("basic.auth.user.info", "eventhubs.connectionString", "sig"),
    ],
)
def test_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(name.upper())


@pytest.mark.parametrize(
    "name",
    [
        *("user", "url", "key.columns", "key.converter", "partitionColumn", "header", "monkey", "compass", "passing"),
        *("keyspace", "apiKeyspace", "ssl.keystore.location", "ssl.keystore.type", "ssl.truststore.type", "design"),
        *("pk.fields", "message.key", "author", "oauth.scope", "authentication", "sasl.mechanism", "topic", "table"),
    ],
)
def test_others(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("${file:/etc/x.properties:password}", True), ("${env:A}${env:B}", True), ("${no:such:provider}", True)),
        *(("", False), ("x${env:A}", False), ("${env:A}x", False), ("$x", False), ("${", False)),
    ],
)
def test_references(text: str, expected: bool) -> None:
    assert is_reference(text) is expected
