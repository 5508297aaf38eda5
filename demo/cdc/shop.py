# SPDX-License-Identifier: Apache-2.0
"""Databases `shop` and `warehouse` of `examples/cdc` on a PostgreSQL of the demo's own, and what changes there."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Self

from demo.cluster import DemoError
from demo.running import repeating
from tests.support.postgres import USER, Postgres, installed_postgres
from tests.support.worker_process import ROOT

EXAMPLE: Final = ROOT / "examples" / "cdc"
_BATCH: Final = 20
_PAUSE: Final = 0.1
_ROWS: Final = "SELECT id, customer, amount, ordered_at FROM orders ORDER BY id"
_INSTALL: Final = {
    "apt-get": "sudo apt-get install -y postgresql",
    "dnf": "sudo dnf install -y postgresql-server",
    "brew": "brew install postgresql",
}


class Shop:
    """Table `orders`, which changes at random, and its copy."""

    def __init__(self) -> None:
        """DemoError with the command that installs PostgreSQL where it is missing."""
        programs = installed_postgres()
        if programs is None:
            command = next((_INSTALL[name] for name in _INSTALL if shutil.which(name)), "install PostgreSQL")
            raise DemoError(f"PostgreSQL is not installed: {command}")
        self._programs = programs
        self.server = Postgres(programs, wal_level="logical")
        self.source = partial(self.server.sql, database="shop")
        self.copy = partial(self.server.sql, database="warehouse")
        self.changes = 0
        self._dice = random.Random()
        self._ids = [1, 2, 3]
        self._next = 3

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.__exit__(*exc)

    def start(self) -> None:
        """Start the server and make what the example's README has made."""
        self.server.start()
        for database in ("shop", "warehouse"):
            login = ["-h", "127.0.0.1", "-p", str(self.server.port), "-U", USER]
            subprocess.run([str(self._programs / "createdb"), *login, database], check=True)
        for name in ("orders", "signal"):
            self.source((EXAMPLE / f"{name}.sql").read_text())

    def config(self, name: str) -> dict[str, str]:
        """Return the configuration of the example's connector `source` or `sink`, for this server."""
        config: dict[str, str] = json.loads((EXAMPLE / f"{name}.json").read_text())["config"]
        if name == "source":
            return config | {"database.hostname": "127.0.0.1", "database.port": str(self.server.port)}
        return config | {"connection.url": config["connection.url"].replace("localhost:5432", self.address)}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def changing(self) -> AbstractContextManager[None]:
        """Change rows again and again meanwhile. DemoError at the end if that has failed."""
        return repeating(self._change, _PAUSE)

    def orders(self) -> list[list[str]]:
        return self.source(_ROWS)

    def copied(self) -> list[list[str]]:
        """Return the rows of the copy; none before the sink has made it."""
        there = self.copy("SELECT 1 FROM pg_tables WHERE tablename = 'orders'")
        return self.copy(_ROWS) if there else []

    def _change(self) -> None:
        try:
            self.source(";\n".join(self._statement() for _ in range(_BATCH)))
        except (AssertionError, subprocess.SubprocessError) as error:
            raise DemoError(f"the table could not be changed: {error}") from error
        self.changes += _BATCH

    def _statement(self) -> str:
        """Return a random change; an order that exists is updated or deleted."""
        amount = self._dice.randrange(10**6) / 100
        kind = self._dice.choice(("insert", "insert", "update", "delete"))
        if kind == "insert" or not self._ids:
            self._next += 1
            self._ids.append(self._next)
            return f"INSERT INTO orders (id, customer, amount) VALUES ({self._next}, 'customer {self._next}', {amount})"
        place = self._dice.randrange(len(self._ids))
        if kind == "update":
            return f"UPDATE orders SET amount = {amount} WHERE id = {self._ids[place]}"
        self._ids[place], self._ids[-1] = self._ids[-1], self._ids[place]
        return f"DELETE FROM orders WHERE id = {self._ids.pop()}"
