# SPDX-License-Identifier: Apache-2.0
"""A Kerberos realm of the tests' own: MIT's KDC in a temporary directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from headrace.broker.free_port import LOOPBACK, free_port
from tests.support.polling import wait_for

REALM: Final = "HEADRACE.TEST"
SERVICE: Final = f"kafka/{LOOPBACK}@{REALM}"
CLIENT: Final = f"connect@{REALM}"
_PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATH: Final = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"

_CONF: Final = """\
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = {host}:{port}
}}
"""
_KDC_CONF: Final = """\
[kdcdefaults]
kdc_listen = {host}:{port}
kdc_tcp_listen = {host}:{port}
[realms]
{realm} = {{
  database_name = {directory}/principal
  key_stash_file = {directory}/stash
}}
[logging]
kdc = FILE:{directory}/kdc.log
"""


def missing_programs() -> list[str]:
    """Return which of MIT Kerberos' programs are not installed (Debian: krb5-kdc, krb5-admin-server, krb5-user)."""
    return [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]


class Kerberos:
    """A KDC from entry to exit, with keytabs for broker and ``CLIENT``, whose tickets live ``life`` seconds."""

    def __init__(self, directory: Path, life: int = 3600) -> None:
        self._directory = directory
        self._port = free_port()
        self._life = life
        self.conf = directory / "krb5.conf"
        self.cache = directory / "tickets"
        self.service_keytab = directory / "service.keytab"
        self.client_keytab = directory / "client.keytab"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What clients need, with a cache of tickets that is the realm's own."""
        return {"KRB5_CONFIG": str(self.conf), "KRB5CCNAME": f"FILE:{self.cache}"}

    def __enter__(self) -> Self:
        values = {"realm": REALM, "host": LOOPBACK, "port": self._port, "directory": self._directory}
        self.conf.write_text(_CONF.format(**values))
        (self._directory / "kdc.conf").write_text(_KDC_CONF.format(**values))
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self.add(SERVICE, self.service_keytab)
        self.add(CLIENT, self.client_keytab, self._life)
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        self._server = subprocess.Popen([self._program("krb5kdc"), "-n"], env=self._environment())
        wait_for(lambda: self._kinit(self._environment()) == 0, 20, "the KDC")

    def stop(self) -> None:
        """End the KDC: no client gets a ticket from now on; those that are there go on until their end."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(10)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Have no KDC within the block; there is one again behind it, also for the tests that follow a failure."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def add(self, principal: str, keytab: Path, life: int = 3600) -> None:
        """Make ``principal`` known, with random keys that go into ``keytab``."""
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", "-maxlife", f"{life} seconds", principal)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keytab), principal)

    def change_keys(self, principal: str) -> None:
        """Its keytab is worth nothing from now on."""
        self._run("kadmin.local", "-r", REALM, "cpw", "-randkey", principal)

    def remove(self, principal: str) -> None:
        self._run("kadmin.local", "-r", REALM, "delprinc", "-force", principal)

    def logins(self) -> int:
        """Return how many new tickets were issued, by key or keytab."""
        return (self._directory / "kdc.log").read_text().count("AS_REQ")

    def log_in(self, principal: str, keytab: Path) -> None:
        """Put a ticket of ``principal``'s into the cache."""
        assert self._kinit({**os.environ, **self.environment}, principal, keytab) == 0

    def _kinit(self, environment: dict[str, str], principal: str = CLIENT, keytab: Path | None = None) -> int:
        command = self._command("kinit", "-k", "-t", str(keytab or self.client_keytab), principal)
        return subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode

    def _environment(self) -> dict[str, str]:
        own = {"KRB5_KDC_PROFILE": str(self._directory / "kdc.conf"), "KRB5CCNAME": f"FILE:{self._directory}/probe"}
        return {**os.environ, **self.environment, **own}

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            self._command(*command), env=self._environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [self._program(program), *arguments]

    def _program(self, name: str) -> str:
        return shutil.which(name, path=_PATH) or name
