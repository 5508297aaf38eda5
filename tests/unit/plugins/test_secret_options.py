# SPDX-License-Identifier: Apache-2.0
"""Which options of Spark's are secrets."""

from __future__ import annotations

import pytest

from headrace.api.config_def import Type
from headrace.plugins.config_transformer import ConfigTransformer
from headrace.plugins.secret_options import is_secret, secret_definitions, secret_values


@pytest.mark.parametrize(
    "name",
    [
        *(
            "password",
            "sslPassword",
            "fs.s3a.secret.key",
            "sfPassword",
            "private_key",
            "pem_private_key",
            "accessToken",
        ),
        *("fs.azure.account.key.x", "apiKey", "credentialsFile", "sasl.jaas.config", "keytab", "pwd"),
    ],
)
def test_secrets_by_their_names(name: str) -> None:
    assert is_secret(f"spark.option.{name}")
    assert is_secret(f"transforms.q.table.rates.{name}")
    assert not is_secret(name)


@pytest.mark.parametrize("name", ["user", "url", "key.columns", "partitionColumn", "header", "monkey", "passphase"])
def test_others_are_none(name: str) -> None:
    assert not is_secret(f"spark.option.{name}")
    assert not is_secret(f"transforms.password.table.rates.{name}")


def test_definitions() -> None:
    definition = secret_definitions({"spark.option.password": "x", "spark.option.user": "y", "topic": "z"})
    assert [(key.name, key.type) for key in definition.config_keys.values()] == [
        ("spark.option.password", Type.PASSWORD)
    ]


def test_values_within_others() -> None:
    config = {
        "spark.option.password": " one ",
        "spark.option.url": "jdbc:mysql://me:t%77o@db/shop?useSSL=true&password=three&sslKeyPassword=",
        "transforms.q.table.rates": "format:jdbc,url:jdbc:x://db;user=me;password=four,password:five,dbtable:t",
        "topic": "x?password=no",
    }
    assert secret_values(config) == {"one", "t%77o", "two", "three", "four", "five"}


def test_references_are_none_and_what_stands_beside_them_is_one() -> None:
    config = {
        "spark.option.password": "${env:P}",
        "spark.option.token": "ab${env:T}literal-part",
        "spark.option.url": "jdbc:mysql://${env:U}:written-out@db/x?password=${file:/f:p}&token=${env:A}beside-it",
    }
    assert secret_values(config) == {"literal-part", "written-out", "beside-it"}


def test_a_configuration_hides_them_in_reports_about_it() -> None:
    given = {"spark.option.password": "sesame", "name": "c", "path": "/sesame", "spark.option.token": "${file:/x:y}"}
    resolved = ConfigTransformer({}).transform(given)
    assert resolved.hide("sesame was wrong, as ${file:/x:y}") == "[hidden] was wrong, as ${file:/x:y}"
    assert "sesame" not in repr(resolved)
    assert resolved.restore({"password": "sesame"}) == {"password": "sesame"}
    assert resolved.along_with(ConfigTransformer({}).transform({"name": "t"})).secrets == {"sesame"}
