# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server of the tests' own, in a temporary directory; H2, in memory; and their JDBC drivers."""

from __future__ import annotations

import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from headrace.api.errors import ConfigError
from headrace.broker.free_port import free_port
from headrace.jvm.ivy import resolve_jars
from tests.support.debian import can_install, install
from tests.support.polling import wait_for
from tests.support.processes import children_of, kill_all

DRIVER = "org.postgresql:postgresql:42.7.4"
"""The JDBC driver's Maven coordinate, as `spark.jars.packages` takes it."""
H2 = "com.h2database:h2:2.3.232"
USER = "headrace"
_STATEMENTS = ("--csv", "--tuples-only", "--single-transaction", "-v", "ON_ERROR_STOP=1", "-f", "-")
_CREATE_CLUSTER = Path("/etc/postgresql-common/createcluster.conf")


def fetched_driver(*others: str) -> str:
    """The driver, and others, as `spark.jars` takes them. RetriableError if one cannot be fetched."""
    return ",".join(map(str, resolve_jars([DRIVER, *others])))


def h2_url(name: str, script: Path) -> str:
    """Return an H2 database that lives as long as its JVM. Each connection runs the script, which has to bear it."""
    return f"jdbc:h2:mem:{name};DB_CLOSE_DELAY=-1;INIT=RUNSCRIPT FROM '{script}'"


def found_postgres() -> Path:
    """The directory of `initdb` and `postgres`; installs Debian's package where they are missing and we are root.

    ConfigError where they are missing all the same.
    """
    found = installed_postgres()
    if found is None and can_install():
        _install()
        found = installed_postgres()
    if found is None:
        raise ConfigError("PostgreSQL is not installed, and only root can install it: apt-get install postgresql")
    return found


def installed_postgres() -> Path | None:
    """The directory of `initdb` and `postgres`; None where they are missing."""
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    return versions[-1].parent if versions else None


def _install() -> None:
    if not _CREATE_CLUSTER.exists():
        # Else the package makes a server of its own, and starts it.
        _CREATE_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
        _CREATE_CLUSTER.write_text("create_main_cluster = false\n")
    install("postgresql")


class Postgres:
    """Started and killed any number of times, always on the same port. Everybody on this machine may do anything.

    It does not wait for the disk, which a kill of its processes does not harm.
    """

    def __init__(self, programs: Path, **settings: str) -> None:
        self._programs, self._settings = programs, settings
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-postgres-"))
        # The server does not run as root.
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self._directory, account.pw_uid, account.pw_gid)
            self._as = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self._data = self._directory / "data"
        self._log = self._directory / "log"
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        login = ["-U", USER, "--auth=trust", "-E", "UTF8", "--no-locale"]
        initdb = [str(programs / "initdb"), "-D", str(self._data), *login]
        done = subprocess.run([*initdb, "-N"], cwd=self._directory, capture_output=True, text=True, **self._as)
        assert done.returncode == 0, done.stderr

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def options(self) -> dict[str, str]:
        """What a connector needs to reach it, as properties."""
        options = {"url": self.jdbc_url, "user": USER, "password": "any"}
        return {f"spark.option.{name}": value for name, value in options.items()}

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self._directory),
            "fsync": "off",
            "log_statement": "all",
            "max_connections": "60",
            "timezone": "UTC",
            **self._settings,
        }
        with self._log.open("ab") as log:
            given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port), *given]
            self._server = subprocess.Popen(
                command, cwd=self._directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as
            )
        wait_for(self._answers, 60, lambda: f"PostgreSQL's start\n{self.log[-2000:]}")

    def kill(self) -> None:
        """SIGKILL to all its processes; `start` recovers what was committed. Nothing happens if it does not run."""
        if self._server is None:
            return
        below = children_of(self._server.pid, recursive=True)
        self._server.kill()
        self._server.wait()
        kill_all(below)
        self._server = None

    def sql(self, statements: str, database: str = "postgres") -> list[list[str]]:
        """What the last of the statements gives, each value as text. They are one transaction."""
        command = [*self._psql(database), *_STATEMENTS]
        done = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return list(csv.reader(io.StringIO(done.stdout)))

    def has_table(self, name: str) -> bool:
        return self.sql(f"SELECT 1 FROM pg_tables WHERE tablename = '{name}'") != []

    @property
    def log(self) -> str:
        """All that it has logged; each statement that was asked of it is there."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, f"PostgreSQL ended with {self._server.returncode}:\n{self.log[-2000:]}"
        return subprocess.run([*self._psql(), "-c", "SELECT 1"], capture_output=True, timeout=30).returncode == 0

    def _psql(self, database: str = "postgres") -> list[str]:
        program = str(self._programs / "psql")
        return [program, "-X", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", database]
