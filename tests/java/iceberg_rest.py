# SPDX-License-Identifier: Apache-2.0
"""A REST catalog of Iceberg in a process of its own: the server by which Iceberg tests clients of its REST protocol.

It keeps its tables in an SQLite file, and is among the jars of Iceberg's tests in Maven Central.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headrace.broker.free_port import free_port
from headrace.jvm.ivy import resolve_jars
from headrace.jvm.java_runtime import find_java
from tests.support.debian import or_skip
from tests.support.polling import wait_for

_ICEBERG: Final = "1.11.0"
_JETTY: Final = "12.1.1"
_SERVER: Final = (
    f"org.apache.iceberg:iceberg-open-api:{_ICEBERG}:test-fixtures",
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}",
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}:tests",
    f"org.eclipse.jetty.ee10:jetty-ee10-servlet:{_JETTY}",
    f"org.eclipse.jetty.compression:jetty-compression-gzip:{_JETTY}",
    f"org.eclipse.jetty.compression:jetty-compression-server:{_JETTY}",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)


@contextmanager
def rest_catalog(directory: Path) -> Iterator[str]:
    """Run a catalog whose tables and files are below `directory`; its URI. Skip where it cannot be fetched."""
    jars = or_skip(lambda: resolve_jars(_SERVER))
    directory.mkdir()
    uri = f"http://127.0.0.1:{(port := free_port())}"
    settings = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": f"file://{directory}",
        "CATALOG_URI": f"jdbc:sqlite:{directory / 'catalog.db'}",
    }
    command = [str(find_java().java), "-cp", ":".join(map(str, jars)), "org.apache.iceberg.rest.RESTCatalogServer"]
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(lambda: _answers(uri, server), 60, lambda: (directory / "log").read_text()[-4000:])
            yield uri
        finally:
            server.kill()


def table_of(uri: str, namespace: str, table: str) -> dict[str, Any] | None:
    """What the catalog says of a table; None while it has none of this name."""
    try:
        with urllib.request.urlopen(f"{uri}/v1/namespaces/{namespace}/tables/{table}", timeout=10) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


def _answers(uri: str, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, "the server has ended"
    try:
        with urllib.request.urlopen(f"{uri}/v1/config", timeout=10):
            return True
    except OSError:
        return False
