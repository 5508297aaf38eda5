# SPDX-License-Identifier: Apache-2.0
"""Names of datasets, by OpenLineage's specification."""

from __future__ import annotations

import pytest

from headrace.api.datasets import file_dataset, jdbc_dataset


@pytest.mark.parametrize(
    ("path", "namespace", "name"),
    [
        ("/data/in", "file", "/data/in"),
        ("file:///data/in", "file", "/data/in"),
        ("/data/../in/", "file", "/in"),
        ("s3a://bucket/in/orders/", "s3://bucket", "in/orders"),
        ("s3://bucket", "s3://bucket", "/"),
        ("hdfs://name:8020/in", "hdfs://name:8020", "/in"),
        ("abfss://box@store.dfs.core.windows.net/in", "abfss://box@store.dfs.core.windows.net", "/in"),
    ],
)
def test_files(path: str, namespace: str, name: str):
    found = file_dataset(path)
    assert (found.namespace, found.name) == (namespace, name)


@pytest.mark.parametrize(
    ("url", "table", "namespace", "name"),
    [
        ("jdbc:postgresql://db:5433/shop?user=u&password=p", "orders", "postgres://db:5433", "shop.public.orders"),
        ("jdbc:postgresql://db/shop", "sales.orders", "postgres://db:5432", "shop.sales.orders"),
        ("jdbc:mysql://u:p@db/shop", "orders", "mysql://db:3306", "shop.orders"),
        ("jdbc:mariadb://db:1/shop", "orders", "mysql://db:1", "shop.orders"),
        ("jdbc:sqlserver://db:1433;databaseName=shop;password=p", "orders", "sqlserver://db:1433", "orders"),
        ("jdbc:h2:mem:shop;PASSWORD=p", "orders", "jdbc:h2:mem:shop", "orders"),
    ],
)
def test_tables(url: str, table: str, namespace: str, name: str):
    found = jdbc_dataset(url, table)
    assert (found.namespace, found.name) == (namespace, name)
