# SPDX-License-Identifier: Apache-2.0
"""The JVM of a process: from its start to the process's end."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.java import jvm
from headrace.java.instances import class_loader_of, held_instance
from headrace.java.jvm import java_class

ALL_BUT_THE_END = """
import signal, jpype
from headrace.java import jvm
from headrace.java.data import java_value

jvm.start(["-Dtest.option=here", "-Xmx100m"])
jvm.start()
assert jvm.java_class("java.lang.System").getProperty("test.option") == "here"
for number in range(60_000):
    java_value(None, {"number": number})

@jpype.JImplements("java.lang.Runnable")
class Work:
    @jpype.JOverride
    def run(self):
        pass

# The thread of this pool is no daemon and never ends.
jvm.java_class("java.util.concurrent.Executors").newFixedThreadPool(1).submit(Work()).get()
jvm.java_class("org.slf4j.LoggerFactory").getLogger("a.b.Plugin").warn("low on disk")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def run(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    def default() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, *options, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=default)


def test_a_process_ends_in_order_whatever_threads_java_has() -> None:
    ended = run(ALL_BUT_THE_END)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == "WARN a.b.Plugin - low on disk\n"


def test_a_process_that_is_killed_leaves_no_file_of_its_jvm() -> None:
    script = (
        "import os, signal\n"
        "from headrace.java import jvm\n"
        "jvm.start()\n"
        "print(os.getpid(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = run(script)
    assert ended.returncode == -signal.SIGKILL
    places = Path(tempfile.gettempdir()).glob(f"hsperfdata_*/{ended.stdout.strip()}")
    assert list(places) == []


def test_the_options_of_a_process_replace_the_default_collector() -> None:
    script = (
        "from headrace.java import jvm\n"
        "from headrace.java.process_options import use_options\n"
        "use_options(['-Xmx64m', '-XX:+UseG1GC'])\n"
        "jvm.start()\n"
        "beans = jvm.java_class('java.lang.management.ManagementFactory')\n"
        "print(beans.getGarbageCollectorMXBeans().get(0).getName(), end=' ')\n"
        "print(jvm.java_class('java.lang.Runtime').getRuntime().maxMemory() >> 20)\n"
    )
    assert run(script).stdout == "G1 Young Generation 64\n"


def test_an_option_that_the_jvm_refuses_is_named() -> None:
    script = (
        "from headrace.java import jvm\n"
        "from headrace.api.errors import ConfigError\n"
        "try: jvm.start(['-XX:NoSuchOption=1'])\n"
        "except ConfigError as error: print(error)\n"
    )
    assert "-XX:NoSuchOption=1" in run(script).stdout


def test_the_properties_of_a_plugin_need_no_jvm_in_the_process() -> None:
    script = (
        "import sys\n"
        "from headrace.java import jvm\n"
        "from headrace.java.transformations import transformation_class\n"
        "found = transformation_class((), 'org.apache.kafka.connect.transforms.RegexRouter')()\n"
        "print(found.config().names, found.version(), jvm.is_started())\n"
        "try: transformation_class((), 'a.B')().config()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    assert run(script).stdout.splitlines() == [
        "['regex', 'replacement'] 4.3.1 False",
        "ConfigError Cannot load the Java class a.B: java.lang.ClassNotFoundException: a.B. "
        "The plugin's jars lack that class: add the jar that has it to the plugin's directory",
    ]


def test_python_threads_are_daemons_in_java() -> None:
    found = []

    def ask() -> None:
        found.append(bool(java_class("java.lang.Thread").currentThread().isDaemon()))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [True]


def _jar(name: str) -> Path:
    return next(jar for jar in jvm.runtime_jars() if jar.name.startswith(name))


def test_a_plugins_own_classes_precede_those_of_kafka() -> None:
    """Except for the interfaces, which both sides share."""
    jars = (_jar("connect-transforms"),)
    name = "org.apache.kafka.connect.transforms.RegexRouter"
    own, shared = jvm.find_class(jars, name), jvm.find_class((), name)
    assert not own.equals(shared)
    assert jvm.plugin_loader(jars) is jvm.plugin_loader(jars)
    assert held_instance(jars, name).is_a("org.apache.kafka.connect.transforms.Transformation")


def test_two_plugins_with_the_same_classes_have_each_its_own(tmp_path: Path) -> None:
    copies = [tmp_path / name / "transforms.jar" for name in ("one", "two")]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(_jar("connect-transforms"), copy)
    name = "org.apache.kafka.connect.transforms.RegexRouter"
    one, two = (jvm.find_class((copy,), name) for copy in copies)
    assert not one.equals(two)
    origins = [str(each.getProtectionDomain().getCodeSource().getLocation().getPath()) for each in (one, two)]
    assert origins == list(map(str, copies))


def test_the_context_class_loader_is_the_plugins() -> None:
    jars = (_jar("connect-transforms"),)
    thread = java_class("java.lang.Thread").currentThread()
    before = thread.getContextClassLoader()
    plugin = held_instance(jars, "org.apache.kafka.connect.transforms.RegexRouter")
    with pytest.raises(ConfigError), class_loader_of(plugin):
        assert thread.getContextClassLoader().equals(jvm.plugin_loader(jars))
        raise ConfigError("left")
    assert thread.getContextClassLoader() == before
