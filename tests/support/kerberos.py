# SPDX-License-Identifier: Apache-2.0
"""A Kerberos realm of the tests' own: MIT's KDC in a temporary directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, Self

from headrace.kafka.free_port import LOOPBACK, free_port
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
    """A KDC from entry to exit, with a keytab for the broker and one for its clients."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self.conf = directory / "krb5.conf"
        self.service_keytab = directory / "service.keytab"
        self.client_keytab = directory / "client.keytab"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What clients need, with a cache of tickets that is the realm's own."""
        return {"KRB5_CONFIG": str(self.conf), "KRB5CCNAME": f"FILE:{self._directory / 'tickets'}"}

    def __enter__(self) -> Self:
        values = {"realm": REALM, "host": LOOPBACK, "port": self._port, "directory": self._directory}
        self.conf.write_text(_CONF.format(**values))
        (self._directory / "kdc.conf").write_text(_KDC_CONF.format(**values))
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        for principal, keytab in ((SERVICE, self.service_keytab), (CLIENT, self.client_keytab)):
            self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
            self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keytab), principal)
        self._server = subprocess.Popen([self._program("krb5kdc"), "-n"], env=self._environment())
        wait_for(lambda: self._kinit(self._environment()) == 0, 20, "the KDC")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(10)

    def log_in(self) -> None:
        """Put the client's ticket into the cache."""
        assert self._kinit({**os.environ, **self.environment}) == 0

    def _kinit(self, environment: dict[str, str]) -> int:
        command = self._command("kinit", "-k", "-t", str(self.client_keytab), CLIENT)
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
