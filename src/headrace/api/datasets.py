# SPDX-License-Identifier: Apache-2.0
"""Datasets that connectors read and write, named as OpenLineage's naming specification says. Not in Java."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

Fields = tuple[tuple[str, str], ...]
"""The names and types of a dataset's columns, types as its own system writes them."""
_JDBC: Final = re.compile(r"jdbc:([a-z0-9]+)://([^/;?]+)(?:/([^;?]*))?", re.IGNORECASE)
_PORTS: Final = {"postgres": 5432, "mysql": 3306}
_NAMES: Final = {"postgresql": "postgres", "mariadb": "mysql"}
_DEFAULT_SCHEMA: Final = {"postgres": "public"}
_STORES: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs"}


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset outside Kafka: `postgres://db:5432` and `shop.public.orders`, or `file` and `/data/orders`.

    ``topics``: those whose records are its rows, so that the fields of their values are its columns, as far as
    ``fields`` has none.
    """

    namespace: str
    name: str
    fields: Fields = ()
    topics: frozenset[str] = frozenset()


def file_dataset(path: str, topics: Iterable[str] = ()) -> Dataset:
    """Return the dataset of a file or directory, by its path or the URL of any file system.

    ``topics`` as those of ``Dataset``.
    """
    url, rows = urlsplit(path), frozenset(topics)
    if url.scheme in ("", "file"):
        return Dataset("file", os.path.abspath(url.path if url.scheme else path), topics=rows)
    if url.scheme in _STORES:
        return Dataset(f"{_STORES[url.scheme]}://{url.netloc}", url.path.strip("/") or "/", topics=rows)
    return Dataset(f"{url.scheme}://{url.netloc}", url.path or "/", topics=rows)


def jdbc_dataset(url: str, table: str, topics: Iterable[str] = ()) -> Dataset:
    """Return the dataset of a table in a database by its JDBC URL, whose user, password and options are left out.

    ``topics`` as those of ``Dataset``.
    """
    found, rows = _JDBC.match(url), frozenset(topics)
    if found is None:
        return Dataset(re.split(r"[;?]", url, maxsplit=1)[0], table, topics=rows)
    kind = _NAMES.get(found[1].lower(), found[1].lower())
    host = found[2].rpartition("@")[2]
    if ":" not in host and kind in _PORTS:
        host = f"{host}:{_PORTS[kind]}"
    schema = _DEFAULT_SCHEMA.get(kind)
    name = f"{schema}.{table}" if schema is not None and "." not in table else table
    return Dataset(f"{kind}://{host}", f"{found[3]}.{name}" if found[3] else name, topics=rows)
