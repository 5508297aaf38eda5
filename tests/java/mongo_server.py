# SPDX-License-Identifier: Apache-2.0
"""A server of MongoDB's protocol in a process of its own, and a client of MongoDB's own driver.

The server is mongo-java-server of Maven Central, which keeps documents in memory and has change streams: MongoDB's own
server is in none of the repositories that tests use. `python -m tests.java.mongo_server PORT` runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headrace.broker.free_port import free_port
from headrace.java.jvm import class_loader, find_class, jpype, plugin_loader
from headrace.jvm.ivy import resolve_jars
from tests.support.debian import or_skip

_SERVER: Final = "de.bwaldvogel:mongo-java-server:1.47.0"
_ROOT: Final = Path(__file__).parents[2]


class MongoClient:
    """Reads and writes documents, which are JSON, by the driver among a plugin's jars."""

    def __init__(self, uri: str, jars: tuple[Path, ...]) -> None:
        self._jars = jars
        self._loader = plugin_loader(jars)
        with class_loader(self._loader):
            self._client = self._java("com.mongodb.client.MongoClients").create(uri)

    def insert(self, database: str, collection: str, *documents: Mapping[str, Any]) -> None:
        with class_loader(self._loader):
            parse = self._java("org.bson.Document").parse
            target = self._client.getDatabase(database).getCollection(collection)
            target.insertMany(jpype().java.util.ArrayList([parse(json.dumps(document)) for document in documents]))

    def documents(self, database: str, collection: str) -> list[dict[str, Any]]:
        with class_loader(self._loader):
            found = self._client.getDatabase(database).getCollection(collection).find()
            return [json.loads(str(document.toJson())) for document in found.into(jpype().java.util.ArrayList())]

    def close(self) -> None:
        self._client.close()

    def _java(self, name: str) -> Any:
        return jpype().JClass(find_class(self._jars, name))


@contextmanager
def mongo_server() -> Iterator[str]:
    """Run a server; its connection string. The test is skipped where it cannot be fetched."""
    or_skip(lambda: resolve_jars([_SERVER]))
    port = free_port()
    command = [sys.executable, "-m", "tests.java.mongo_server", str(port)]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("listening"), "the server has not started"
            yield f"mongodb://127.0.0.1:{port}"
        finally:
            server.kill()


def _serve(port: int) -> None:
    """Serve until the standard input is at its end, as when the process that started this one ends."""
    jars = resolve_jars([_SERVER])

    def java(name: str) -> Any:
        return jpype().JClass(find_class(jars, f"de.bwaldvogel.mongo.{name}"))

    server = java("MongoServer")(java("backend.memory.MemoryBackend")())
    # Change streams are read from it.
    server.enableOplog()
    server.bind("127.0.0.1", port)
    print("listening", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
