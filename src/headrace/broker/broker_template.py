# SPDX-License-Identifier: Apache-2.0
"""The template of embedded brokers, for quick starts: formatted storage to copy, and a class archive."""

from __future__ import annotations

import hashlib
import logging
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from headrace import KAFKA_VERSION
from headrace.api.errors import ConnectError
from headrace.broker.broker_files import (
    BROKER_COORDINATES,
    CHECKPOINT_FILE,
    LOG_FILE,
    broker_command,
    new_uuid,
    server_properties,
    storage_directory,
    write_configuration,
)
from headrace.broker.child_process import start_child
from headrace.broker.free_port import free_port
from headrace.jvm.ivy import Progress, read_pins, resolve_jars
from headrace.jvm.java_runtime import ARCHIVE_IN_PLACE, find_java
from headrace.jvm.user_cache import cache_directory, make_once

log = logging.getLogger(__name__)

_ARCHIVE_FILE = "classes.jsa"
_PINS = Path(__file__).parent / "pins" / "broker.sha256"
_ALWAYS = ("-Xlog:disable", "-Djava.awt.headless=true", "-XX:+UseSerialGC", *ARCHIVE_IN_PLACE)


@dataclass(frozen=True, slots=True)
class BrokerTemplate:
    """`java` and `jars` run the broker; `directory` has the storage tool's checkpoint and a first run's classes."""

    java: Path
    jars: tuple[Path, ...]
    directory: Path

    @property
    def checkpoint(self) -> bytes:
        """The feature levels of new storage."""
        return (self.directory / CHECKPOINT_FILE).read_bytes()

    @property
    def jvm_options(self) -> tuple[str, ...]:
        """Options for any run: with Kafka's classes from the archive, it takes half the time and CPU to start."""
        archive = self.directory / _ARCHIVE_FILE
        return (*_ALWAYS, f"-XX:SharedArchiveFile={archive}") if archive.exists() else _ALWAYS


def broker_template(progress: Progress | None = None) -> BrokerTemplate:
    """Return the template for the Java found, made by the first call (jars from the network, then about ten seconds).

    Raises:
        NoJavaError, ConfigError, RetriableError: as `find_java`, `resolve_jars` and `make_once` do.
        ConnectError: Kafka's storage tool failed.
    """
    java = find_java()
    jars = resolve_jars(BROKER_COORDINATES, progress=progress, pins=read_pins(_PINS))
    # A class archive fits one Java build and these very jars only.
    release = java.home / "release"
    identity = f"{java.home} {release.read_text() if release.exists() else ''} {jars}"
    name = f"{KAFKA_VERSION}-java{java.major}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    directory = make_once(cache_directory() / "broker" / name, lambda target: _make(target, java.java, jars))
    return BrokerTemplate(java.java, jars, directory)


def _make(target: Path, java: Path, jars: tuple[Path, ...]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory)
        port = free_port()
        controller_port = free_port(port)
        properties = write_configuration(data_dir, server_properties(port, controller_port, data_dir, {}))
        checkpoint = _format(java, jars, data_dir, properties)
        (target / CHECKPOINT_FILE).write_bytes(checkpoint)
        _archive_classes(java, jars, data_dir, properties, target / _ARCHIVE_FILE)


def _format(java: Path, jars: tuple[Path, ...], data_dir: Path, properties: Path) -> bytes:
    main = ("kafka.tools.StorageTool", "format", "--cluster-id", new_uuid(), "--config", str(properties))
    command = broker_command(java, jars, data_dir, (*_ALWAYS, "-XX:TieredStopAtLevel=1"), main)
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        last = (result.stderr + result.stdout).strip().splitlines()[-1:]
        raise ConnectError(f"Cannot format the embedded broker's storage: {''.join(last)}")
    return (storage_directory(data_dir) / CHECKPOINT_FILE).read_bytes()


def _archive_classes(java: Path, jars: tuple[Path, ...], data_dir: Path, properties: Path, archive: Path) -> None:
    """Start a broker once and let the JVM keep its loaded classes. Without the archive all works, only slower."""
    command = broker_command(
        java, jars, data_dir, (*_ALWAYS, f"-XX:ArchiveClassesAtExit={archive}"), ("kafka.Kafka", str(properties))
    )
    broker = start_child(command, data_dir / LOG_FILE)
    try:
        deadline = time.monotonic() + 60
        while b"Kafka Server started" not in (data_dir / LOG_FILE).read_bytes():
            if broker.poll() is not None or time.monotonic() > deadline:
                raise ConnectError("the broker did not start")
            time.sleep(0.1)
        broker.send_signal(signal.SIGTERM)
        broker.wait(60)
    except (ConnectError, OSError, subprocess.TimeoutExpired) as error:
        archive.unlink(missing_ok=True)
        log.info("No class archive for the embedded broker: %s", error)
    finally:
        broker.kill()
        broker.wait()
