# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server of the tests' own, in a temporary directory, and the JDBC driver to it."""

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

import psutil
import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.broker.free_port import free_port
from headrace.jvm.ivy import resolve_jars
from tests.support.debian import can_install, install
from tests.support.polling import wait_for

DRIVER = "org.postgresql:postgresql:42.7.4"
"""The JDBC driver's Maven coordinate, as `spark.jars.packages` takes it."""
USER = "headrace"
_CREATE_CLUSTER = Path("/etc/postgresql-common/createcluster.conf")


def driver_jars() -> str:
    """The driver and what it needs, as `spark.jars` takes it. Skips the test where it cannot be fetched."""
    try:
        return fetched_driver()
    except RetriableError as error:
        pytest.skip(str(error))


def postgres_programs() -> Path:
    """As `found_postgres`; skips the test where there is none."""
    try:
        return found_postgres()
    except ConfigError as error:
        pytest.skip(str(error))


def fetched_driver() -> str:
    """The driver and what it needs, as `spark.jars` takes it. RetriableError if it cannot be fetched."""
    return ",".join(map(str, resolve_jars([DRIVER])))


def found_postgres() -> Path:
    """The directory of `initdb` and `postgres`; installs Debian's package where they are missing and we are root.

    ConfigError where they are missing all the same.
    """
    found = _programs()
    if found is None and can_install():
        _install()
        found = _programs()
    if found is None:
        raise ConfigError("PostgreSQL is not installed, and only root can install it: apt-get install postgresql")
    return found


def _programs() -> Path | None:
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

    def __init__(self, programs: Path) -> None:
        self._programs = programs
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
        self._run("initdb", "-D", str(self._data), "-U", USER, "--auth=trust", "-E", "UTF8", "--no-locale", "-N")

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
        }
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(
                [
                    str(self._programs / "postgres"),
                    *("-D", str(self._data), "-p", str(self.port)),
                    *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
                ],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._as,
            )
        wait_for(self._answers, 60, lambda: f"PostgreSQL's start\n{self.log[-2000:]}")

    def kill(self) -> None:
        """SIGKILL to all its processes; `start` recovers what was committed. Nothing happens if it does not run."""
        if self._server is None:
            return
        processes = [psutil.Process(self._server.pid)] if self._server.poll() is None else []
        processes += [child for process in processes for child in process.children(recursive=True)]
        for process in processes:
            if process.is_running():
                process.kill()
        self._server.wait()
        psutil.wait_procs(processes, timeout=10)
        self._server = None

    def sql(self, statements: str) -> list[list[str]]:
        """What the last of the statements gives, each value as text. They are one transaction."""
        done = subprocess.run(
            [*self._psql(), "--csv", "--tuples-only", "--single-transaction", "-v", "ON_ERROR_STOP=1", "-f", "-"],
            input=statements,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return list(csv.reader(io.StringIO(done.stdout)))

    @property
    def log(self) -> str:
        """All that it has logged; each statement that was asked of it is there."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _answers(self) -> bool:
        assert self._server is not None
        if self._server.poll() is not None:
            raise AssertionError(f"PostgreSQL ended with {self._server.returncode}:\n{self.log[-2000:]}")
        done = subprocess.run([*self._psql(), "-c", "SELECT 1"], capture_output=True, timeout=30)
        return done.returncode == 0

    def _psql(self) -> list[str]:
        program = str(self._programs / "psql")
        return [program, "-X", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", "postgres"]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=120,
            **self._as,
        )
        assert done.returncode == 0, done.stderr
