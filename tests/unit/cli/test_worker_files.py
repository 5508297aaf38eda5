# SPDX-License-Identifier: Apache-2.0
"""The files of a worker's own."""

from __future__ import annotations

import sys
from pathlib import Path

import headrace
from headrace.cli.worker_process import worker_files
from headrace.config.worker_config import WorkerConfig
from headrace.connectors.singer.commands import environments_directory

NEEDED = {"bootstrap.servers": "b:1", "key.converter": "StringConverter", "value.converter": "StringConverter"}


def test_they_are_what_it_is_set_up_by_and_where_its_code_comes_from(tmp_path: Path) -> None:
    names = ("worker.properties", "users", "store.pem", "krb5.keytab", "a.jar", "b.jar", "jaas.conf")
    files = {name: tmp_path / name for name in names}
    for file in files.values():
        file.write_text("")
    config = WorkerConfig(
        {
            **NEEDED,
            "plugin.path": f"{tmp_path}/plugins, {tmp_path}/more",
            "rest.basic.auth.credentials.file": str(files["users"]),
            "listeners.https.ssl.keystore.location": str(files["store.pem"]),
            "sasl.jaas.config": f'Module required keyTab="{files["krb5.keytab"]}";',
            "spark.driver.extraClassPath": f"{files['a.jar']}:{files['b.jar']}",
            "spark.driver.extraJavaOptions": f"-Xmx1g -Djava.security.auth.login.config={files['jaas.conf']}",
            "spark.local.dir": f"{tmp_path}/spill",
            "rest.audit.file": f"{tmp_path}/audit-to-be",
            "config.providers.file.param.allowed.paths": str(tmp_path),
        }
    )
    found = worker_files(config, files["worker.properties"], tmp_path / "offsets-to-be")
    directories = {f"{tmp_path}/{name}" for name in ("plugins", "more", "offsets-to-be", "spill", "audit-to-be")}
    assert found >= {str(file) for file in files.values()} | directories
    assert found >= {str(Path(headrace.__file__).parent), str(Path(sys.executable).parent)}
    assert found >= {place for place in sys.path if Path(place).exists() and place}
    assert str(environments_directory()) in found
    assert str(tmp_path) not in found, "a directory that a property names may be one for data"
