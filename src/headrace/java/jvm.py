# SPDX-License-Identifier: Apache-2.0
"""The JVM of this process, which JPype starts, and the class loaders of the plugins in it.

A class path has Kafka Connect's own jars. Each plugin has a class loader that looks into the plugin's jars first, as
Java's workers have; JPype attaches each Python thread that calls Java as a daemon.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.errors import ConfigError
from headrace.config.java_config import CONNECTOR_JAVA_OPTIONS, JAVA_OPTIONS
from headrace.java.errors import java_errors
from headrace.java.exits import watch_exits
from headrace.java.process_options import are_usual, with_chosen
from headrace.jvm.ivy import Progress, resolve_jars
from headrace.jvm.java_runtime import ARCHIVE_IN_PLACE, JavaRuntime, find_java

Jars = tuple[Path, ...]

_RUNTIME: Final = (f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
_LOGGING: Final = "-Dorg.slf4j.simpleLogger"
_OPTIONS: Final = (
    "-Xrs",  # signals are Python's
    "-XX:+UseSerialGC",
    *ARCHIVE_IN_PLACE,
    "-XX:-UsePerfData",  # its file in /tmp would outlive a process that is killed
    "-Djava.awt.headless=true",
    # Functions of a batch live as long as it: to compile a variant of each, as Java does after 127 calls, is dear.
    "-Djava.lang.invoke.MethodHandle.CUSTOMIZE_THRESHOLD=-1",
    # A crash is reported in a few lines on stdout; its report is for those who name a file for it.
    "-XX:ErrorFile=/dev/null",
    # A line of the log is "INFO org.example.Class - message", on stderr.
    f"{_LOGGING}.showThreadName=false",
    f"{_LOGGING}.defaultLogLevel=info",
)
_OF_EACH_REFUSAL: Final = ("Error: Could not create the Java Virtual Machine", "Error: A fatal exception has occurred")
_LIBRARIES: Final = ("libjvm.so", "libjvm.dylib")
_starting: Final = threading.Lock()


def jpype() -> Any:
    """Return the module ``jpype``. Raise ConfigError if it is not installed."""
    try:
        import jpype
        import jpype.config
        import jpype.nio
    except ImportError as error:
        raise ConfigError("Java plugins need JPype. Install it: pip install 'headrace[java]'") from error
    return jpype


def runtime_jars(progress: Progress | None = None) -> Jars:
    """Return the jars of Kafka Connect's runtime; the first call on a machine downloads them."""
    return resolve_jars(_RUNTIME, progress=progress)


def start(options: Sequence[str] = ()) -> None:
    """Start the JVM of this process, unless it runs already; `options` follow the default ones and the process's.

    Raises:
        ConfigError: JPype is not installed, or the JVM refuses an option.
        NoJavaError: there is no Java.
    """
    bridge = jpype()
    with _starting:
        if bridge.isJVMStarted():
            return
        runtime, jars = find_java(), [str(jar) for jar in runtime_jars()]
        # At the end of the process the JVM would wait for all threads that plugins left.
        bridge.config.destroy_jvm = False
        all_options = with_chosen(_OPTIONS, options)
        _check(runtime, all_options)
        try:
            bridge.startJVM(*all_options, jvmpath=_library(runtime), classpath=jars, interrupt=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise _refusal(runtime, all_options, error) from error
        atexit.register(_stop_reference_queue)
        watch_exits()


def _check(runtime: JavaRuntime, options: Sequence[str]) -> None:
    """Raise ConfigError if a JVM refuses the chosen options: that of this process would take it along."""
    if are_usual():
        return
    command = [str(runtime.java), *options, "-version"]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if tried.returncode:
        lines = (line.strip() for line in (tried.stdout + tried.stderr).splitlines())
        said = ". ".join(line.removesuffix(".") for line in lines if line and not line.startswith(_OF_EACH_REFUSAL))
        raise _refusal(runtime, options, said or f"it ended with status {tried.returncode}")


def _refusal(runtime: JavaRuntime, options: Sequence[str], error: object) -> ConfigError:
    given = " ".join(option for option in options if option not in _OPTIONS)
    if not given:
        return ConfigError(f"Cannot start the JVM of {runtime.home}: {error}")
    return ConfigError(
        f"Cannot start the JVM of {runtime.home} with the options {given}: {error}. They are those of {JAVA_OPTIONS} "
        f"and {CONNECTOR_JAVA_OPTIONS}"
    )


def _stop_reference_queue() -> None:
    # Its thread releases objects of Python's: while the interpreter ends it would abort the process.
    java_class("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def is_started() -> bool:
    """Return True if this process has a JVM."""
    bridge = sys.modules.get("jpype")
    return bridge is not None and bridge.isJVMStarted()


def _library(runtime: JavaRuntime) -> str:
    for name in _LIBRARIES:
        if (library := runtime.home / "lib" / "server" / name).exists():
            return str(library)
    raise ConfigError(f"{runtime.home} has no lib/server/{_LIBRARIES[0]}, which a JVM within a process needs")


@functools.cache
def java_class(name: str) -> Any:
    """Return a class of the JVM's class path, such as ``java.util.ArrayList``. The JVM must be started."""
    return jpype().JClass(name)


@functools.cache
def plugin_loader(jars: Jars) -> Any:
    """Return the class loader of the plugin with these jars: the same one for the same jars, and child-first."""
    system = java_class("java.lang.ClassLoader").getSystemClassLoader()
    if not jars:
        return system
    urls = [java_class("java.io.File")(str(jar)).toURI().toURL() for jar in jars]
    location = java_class("java.io.File")(str(jars[0].parent)).toURI().toURL()
    array = jpype().JArray(java_class("java.net.URL"))(urls)
    return java_class("org.apache.kafka.connect.runtime.isolation.PluginClassLoader")(location, array, system)


def find_class(jars: Jars, name: str) -> Any:
    """Start the JVM if necessary and return a plugin's ``java.lang.Class`` by its name, such as ``a.b.Outer$Inner``.

    Raises:
        ConfigError: there is no such class in the plugin's jars, or not all that it needs.
    """
    start()
    with java_errors(f"Cannot load the Java class {name}"):
        return java_class("java.lang.Class").forName(name, True, plugin_loader(jars))


@contextmanager
def class_loader(loader: Any) -> Iterator[None]:
    """Within the context, plugins' code finds classes and resources by `loader` on this thread."""
    thread = java_class("java.lang.Thread").currentThread()
    saved = thread.getContextClassLoader()
    thread.setContextClassLoader(loader)
    try:
        yield
    finally:
        thread.setContextClassLoader(saved)
