# SPDX-License-Identifier: Apache-2.0
"""The real Java Kafka Connect as the engine to compare with, from jars that Ivy fetches."""

from __future__ import annotations

from pathlib import Path

from bench.engines import Engine
from headrace import KAFKA_VERSION
from headrace.jvm.ivy import Progress, resolve_jars
from headrace.jvm.java_runtime import find_java

RUNTIME = (
    f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}",
    f"org.apache.kafka:connect-file:{KAFKA_VERSION}",
    f"org.apache.kafka:connect-test-plugins:{KAFKA_VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
)
_PLUGINS = ("connect-file", "connect-test-plugins")
# What the start scripts of Kafka's distribution set.
_JVM_OPTIONS = (
    "-Xms256M",
    "-Xmx2G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
_LOG4J = """\
status = off
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""


def fetch(progress: Progress | None = None) -> tuple[Path, ...]:
    """Java Connect's jars, downloaded by the first call."""
    return resolve_jars(RUNTIME, progress=progress)


class JavaConnect(Engine):
    """Kafka Connect in Java, with the JVM options of its distribution."""

    name = "java"

    def command(self, properties: Path) -> list[str]:
        log4j = self.directory / "log4j2.properties"
        log4j.write_text(_LOG4J)
        classpath = ":".join(map(str, fetch()))
        main = ["org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]
        java = str(find_java().java)
        return [java, *_JVM_OPTIONS, f"-Dlog4j2.configurationFile={log4j}", "-cp", classpath, *main]

    def extra_properties(self) -> dict[str, str]:
        return {"plugin.path": str(self._plugin_path()), "plugin.discovery": "service_load"}

    def _plugin_path(self) -> Path:
        """A directory with one directory for each plugin, as users lay it out."""
        root = self.directory / "plugins"
        for jar in fetch():
            if jar.name.startswith(_PLUGINS):
                (root / jar.stem).mkdir(parents=True, exist_ok=True)
                link = root / jar.stem / jar.name
                link.unlink(missing_ok=True)
                link.symlink_to(jar)
        return root
