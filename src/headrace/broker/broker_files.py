# SPDX-License-Identifier: Apache-2.0
"""The files of a single KRaft node: server.properties, a log4j configuration, formatted storage."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from pathlib import Path

from headrace import KAFKA_VERSION

BROKER_COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    # Binds Kafka's logging, of which the broker's own dependencies bring only the interface.
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
)
LOG_FILE = "broker.log"
CHECKPOINT_FILE = "bootstrap.checkpoint"
_HOST = "127.0.0.1"

# Settings for one node: no second replica to wait for, few partitions of the internal topics (each costs start-up
# time), no wait for further group members, a small buffer for the log cleaner's heap.
_SINGLE_NODE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # No other node could take over, so neither a long stall of the machine nor its own end shall take the node's
    # partitions from it: see broker_recovery.
    "broker.session.timeout.ms": "60000",
    "controlled.shutdown.enable": "false",
    "log.cleaner.dedupe.buffer.size": str(32 << 20),
}

_LOG4J = """\
status = off
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {path}
appender.file.filePattern = {path}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
appender.file.policy.type = SizeBasedTriggeringPolicy
appender.file.policy.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
logger.configuration.name = org.apache.kafka.common.config.AbstractConfig
logger.configuration.level = WARN
"""


def server_properties(
    port: int,
    controller_port: int,
    data_dir: Path,
    overrides: Mapping[str, str],
    proxies: Mapping[int, int] | None = None,
) -> dict[str, str]:
    """Return the settings of broker and controller in one, on loopback; `overrides` win.

    `proxies` are further ports to listen on, each with the port that is advertised to its clients.
    """
    behind = {f"PROXIED{inner}": (inner, outer) for inner, outer in (proxies or {}).items()}
    listeners = {"PLAINTEXT": port, **{name: inner for name, (inner, _) in behind.items()}}
    advertised = {"PLAINTEXT": port, **{name: outer for name, (_, outer) in behind.items()}}
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"{_listeners(listeners)},CONTROLLER://{_HOST}:{controller_port}",
        "advertised.listeners": _listeners(advertised),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in (*listeners, "CONTROLLER")),
        # A static voter: its port may change from start to start, which a dynamic quorum would have recorded.
        "controller.quorum.voters": f"1@{_HOST}:{controller_port}",
        "log.dirs": str(storage_directory(data_dir)),
        **_SINGLE_NODE,
        **overrides,
    }


def recovery_properties(controller_port: int, data_dir: Path) -> dict[str, str]:
    """Return the settings of the same node as a controller alone, which ends a dead broker's session within 0.1 s."""
    return {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": f"CONTROLLER://{_HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{_HOST}:{controller_port}",
        "log.dirs": str(storage_directory(data_dir)),
        "broker.heartbeat.interval.ms": "50",
        "broker.session.timeout.ms": "100",
        "metadata.max.idle.interval.ms": "50",
    }


def storage_directory(data_dir: Path) -> Path:
    """Return the directory of the topics' data."""
    return data_dir / "topics"


def metadata_directory(data_dir: Path) -> Path:
    """Return the directory of the controller's log."""
    return storage_directory(data_dir) / "__cluster_metadata-0"


def write_configuration(data_dir: Path, properties: Mapping[str, str], name: str = "server.properties") -> Path:
    """Write the node's and log4j's configuration to `data_dir`; return the path of the former."""
    path = data_dir / name
    lines = (f"{key}={_escaped(value)}\n" for key, value in properties.items())
    path.write_text("".join(lines), encoding="ascii")
    log4j = _LOG4J.format(path=_escaped(str(data_dir / LOG_FILE)))
    (data_dir / "log4j2.properties").write_text(log4j, encoding="ascii")
    return path


def has_run(data_dir: Path) -> bool:
    """Return True if a broker ran on `data_dir` before."""
    return metadata_directory(data_dir).exists()


def write_storage(data_dir: Path, checkpoint: bytes) -> None:
    """Format an empty `data_dir` as Kafka's storage tool would; `checkpoint` holds the feature levels to start with.

    Formatted storage is left alone. meta.properties goes last: it marks the storage as formatted.
    """
    storage = storage_directory(data_dir)
    if (storage / "meta.properties").exists():
        return
    storage.mkdir(parents=True, exist_ok=True)
    (storage / CHECKPOINT_FILE).write_bytes(checkpoint)
    (storage / "meta.properties").write_text(
        f"version=1\nnode.id=1\ncluster.id={new_uuid()}\ndirectory.id={new_uuid()}\n"
    )


def new_uuid() -> str:
    """Return a random UUID in Kafka's spelling: 22 characters of URL-safe base64, never with a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


def broker_command(
    java: Path, jars: tuple[Path, ...], data_dir: Path, jvm_options: tuple[str, ...], main: tuple[str, ...]
) -> list[str]:
    """Return the command line that runs class `main[0]` with arguments `main[1:]` on the broker's jars."""
    classpath = ":".join(map(str, jars))
    log4j = f"-Dlog4j2.configurationFile={data_dir / 'log4j2.properties'}"
    return [str(java), *jvm_options, log4j, "-cp", classpath, *main]


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{_HOST}:{port}" for name, port in ports.items())


def _escaped(value: str) -> str:
    """Escape `value` for a properties file of Java's: ASCII, other characters as UTF-16 units."""
    units = value.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
