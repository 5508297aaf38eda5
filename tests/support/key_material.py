# SPDX-License-Identifier: Apache-2.0
"""An authority, and a client's key and certificates in all forms that Kafka's clients read them in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import Certificate, load_pem_x509_certificates

from headrace.jvm.java_runtime import find_java

PASSWORD: Final = "store-password"
KEY_PASSWORD: Final = "key-password"
CLIENT: Final = "mtls-client"


class KeyMaterial:
    """Files in ``directory``. The client's certificate is by an intermediate authority that servers do not know."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = trustme.CA()
        client = self.ca.create_child_ca().issue_cert("client@example.org", common_name=CLIENT)
        self.key = client.private_key_pem.bytes().decode()
        self.chain = "".join(pem.bytes().decode() for pem in client.cert_chain_pems)
        self.trusted = self.ca.cert_pem.bytes().decode()
        self._identity("client", self.key, self.chain)
        self._truststores()

    def server(self, host: str) -> Path:
        """Return a PEM file with a server's key and certificates."""
        path = self.directory / f"{host}.pem"
        key = load_pem_private_key((issued := self.ca.issue_cert(host)).private_key_pem.bytes(), None)
        # Java reads keys in PKCS#8 alone.
        pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(pkcs8 + b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        return path

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def server_stores(self, host: str) -> None:
        """Make `host`.pem, .p12 and .jks, each time with another key."""
        text = self.server(host).read_text()
        end = text.index("-----BEGIN CERTIFICATE-----")
        self._identity(host, text[:end], text[end:])

    def _identity(self, name: str, pem: str, chain: str) -> None:
        """In all forms; the key is encrypted in each."""
        key = load_pem_private_key(pem.encode(), None)
        certificates = load_pem_x509_certificates(chain.encode())
        self.encrypted_key = key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode())
        ).decode()
        self._write(f"{name}.pem", (self.encrypted_key + chain).encode())
        self._write(f"{name}.p12", pkcs12(name, key, certificates))
        Path(self.path(f"{name}.jks")).unlink(missing_ok=True)
        into = ("-importkeystore", "-srckeystore", self.path(f"{name}.p12"), "-srcstorepass:env", "STORE_PASSWORD")
        self._keytool(*into, "-destkeystore", self.path(f"{name}.jks"), "-deststoretype", "JKS", "-noprompt")

    def _truststores(self) -> None:
        self._write("ca.pem", self.trusted.encode())
        for kind in ("JKS", "PKCS12"):
            trust = ("-importcert", "-alias", "ca", "-file", self.path("ca.pem"), "-noprompt", "-storetype", kind)
            self._keytool(*trust, "-keystore", self.path("trust.jks" if kind == "JKS" else "trust.p12"))

    def _write(self, name: str, content: bytes) -> None:
        (self.directory / name).write_bytes(content)

    def _keytool(self, *arguments: str) -> None:
        password = "-deststorepass:env" if "-importkeystore" in arguments else "-storepass:env"
        done = subprocess.run(
            [str(find_java().home / "bin" / "keytool"), *arguments, password, "STORE_PASSWORD"],
            env={**os.environ, "STORE_PASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def pkcs12(name: str, key: Any, certificates: list[Certificate], password: str = PASSWORD) -> bytes:
    encrypted = BestAvailableEncryption(password.encode())
    return serialize_key_and_certificates(name.encode(), key, certificates[0], certificates[1:], encrypted)
