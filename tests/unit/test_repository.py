# SPDX-License-Identifier: Apache-2.0
"""The repository keeps its own promises: what README and guide show runs, links lead somewhere, versions are locked."""

from __future__ import annotations

import ast
import json
import re
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headrace.api import ExactlyOnceSupport, OffsetStorageReader, SourceConnector, SourceTask
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FIRST_CONNECTOR = (ROOT / "docs" / "guide" / "first-connector.md").read_text()
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXAMPLE = ROOT / "examples" / "counter_source"


def code_block(language: str, page: str = FIRST_CONNECTOR) -> str:
    matched = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert matched is not None
    return matched[1]


class CommittedOffsets(OffsetStorageReader):
    def __init__(self, committed: dict[str, dict[str, Any]]) -> None:
        self.committed = committed

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.committed.get(json.dumps(partition))

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


def polled(task_class: type[SourceTask], props: Mapping[str, str], committed: dict[str, dict[str, Any]]) -> list[int]:
    """The values of five polls of a new task, whose offsets are then committed."""
    task = task_class()
    task.initialize(SimpleNamespace(offset_storage_reader=CommittedOffsets(committed)))  # type: ignore[arg-type]
    task.start(props)
    values = []
    for _ in range(5):
        for record in task.poll() or ():
            committed[json.dumps(record.source_partition)] = record.source_offset
            values.append(record.value)
    task.stop()
    assert task.poll() is None
    return values


def test_the_readmes_connector_has_the_time():
    namespace: dict[str, Any] = {}
    code = code_block("python", README)
    exec(code, namespace)
    connector: SourceConnector = namespace["ClockSourceConnector"]()
    props = {"name": "clock", "connector.class": "clock_source:ClockSourceConnector", "topic": "times"}
    assert all(not value.error_messages for value in connector.validate(props))
    connector.start(props)
    (config,) = connector.task_configs(3)
    task: SourceTask = connector.task_class()()  # type: ignore[assignment]
    task.start(config)
    (record,) = task.poll() or ()
    assert (record.topic, record.source_partition) == ("times", {"clock": "utc"})
    assert time.strptime(record.value)
    assert sum(1 for line in code.splitlines() if line.strip()) <= 24


def test_the_first_connector_counts_and_continues_where_it_was():
    namespace: dict[str, Any] = {}
    exec(code_block("python"), namespace)
    connector: SourceConnector = namespace["CounterSourceConnector"]()
    props = {**json.loads(code_block("json"))["config"], "per.second": "1000"}
    assert all(not value.error_messages for value in connector.validate(props))
    assert connector.exactly_once_support(props) is ExactlyOnceSupport.SUPPORTED
    connector.start(props)

    configs = connector.task_configs(2)
    committed: dict[str, dict[str, Any]] = {}

    assert len(configs) == 2
    assert polled(connector.task_class(), configs[0], committed) == [0, 1, 2, 3, 4]
    assert polled(connector.task_class(), configs[1], committed) == [0, 1, 2, 3, 4]
    assert polled(connector.task_class(), configs[0], committed) == [5, 6, 7, 8, 9]


def test_the_guide_shows_the_example_as_it_is():
    assert code_block("python") in (EXAMPLE / "counter_source.py").read_text()
    assert json.loads(code_block("json")) == json.loads((EXAMPLE / "counter.json").read_text())


def test_the_guide_to_change_data_capture_shows_the_example_as_it_is():
    guide = (ROOT / "docs" / "guide" / "change-data-capture.md").read_text()
    shown = {name: re.findall(rf"^```{name}\n(.*?)^```", guide, re.DOTALL | re.MULTILINE) for name in ("json", "sql")}
    example = ROOT / "examples" / "cdc"
    assert shown["json"] == [(example / f"{name}.json").read_text() for name in ("source", "sink")]
    assert shown["sql"][0] == (example / "signal.sql").read_text()


def test_the_first_connector_stays_short():
    assert sum(1 for line in code_block("python").splitlines() if line.strip()) <= 40


def test_the_example_worker_is_a_valid_one_with_exactly_once():
    config = DistributedConfig(read_properties(ROOT / "examples" / "worker.properties"))
    assert config.exactly_once_source_enabled


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


def test_what_the_readme_links_to_is_in_the_source_distribution():
    """A page of a package index shows the README alone; its links are those of the source distribution."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = [path.removeprefix("/") for path in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]
    included += ["README.md", *project["project"]["license-files"]]  # these always are
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    files = [link for link in links if "://" not in link]
    assert [file for file in files if file not in included and file.partition("/")[0] not in included] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_that_documents_name_exist(document: Path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for line in re.findall(r"`make ([a-z ]+)", document.read_text()) for word in line.split()}
    assert named - targets == set()


LOCKS = {
    "requirements.lock": ["auth"],
    "requirements-dev.lock": ["dev"],
    "requirements-jvm.lock": ["jvm"],
    "requirements-kerberos.lock": ["kerberos"],
    "requirements-kerberos-build.lock": [],
}
WHOLE = ("requirements.lock", "requirements-dev.lock")
"""These have what headrace depends on, too."""


@pytest.mark.parametrize(("file", "extras"), LOCKS.items())
def test_every_dependency_is_locked_within_its_range_by_hashes(file: str, extras: list[str]):
    lock = (ROOT / file).read_text()
    pins = re.findall(r"^([\w.-]+)==(\S+) ", lock, re.MULTILINE)
    locked = {canonicalize_name(name): version for name, version in pins}
    texts = [text for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    wanted = [Requirement(text) for text in texts + (PROJECT["dependencies"] if file in WHOLE else [])]
    loose = [str(one) for one in wanted if locked.get(canonicalize_name(one.name), "none") not in one.specifier]
    assert loose == []
    assert "://" not in lock
    assert len(re.findall(r"--(?!hash=sha256:[0-9a-f]{64}\b)", lock)) == 0


def test_what_is_locked_for_users_is_what_all_tests_ran_with():
    pins = [set(re.findall(r"^[\w.-]+==\S+", (ROOT / file).read_text(), re.MULTILINE)) for file in WHOLE]
    assert pins[0] <= pins[1]


def test_what_has_kerberos_is_of_the_librdkafka_that_is_built_for_it():
    version = re.findall(r'(?m)^_VERSION: Final = "(\S+)"', (ROOT / "scripts" / "kerberos.py").read_text())
    locked = re.findall(r"(?m)^confluent-kafka==(\S+)", (ROOT / "requirements-kerberos.lock").read_text())
    assert version == locked


def test_every_locked_package_is_in_the_inventory_of_licences():
    inventory = (ROOT / "docs" / "licences.md").read_text()
    pins = re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text())
    assert [pin for pin in pins if f"| {pin[0]} | {pin[1]} |" not in inventory] == []
    assert "not installed" not in inventory


EXTRAS = ("auth", "java", "kerberos", "lineage", "otel")


def imported_by_source() -> set[str]:
    """The top-level names of all imports in src, the standard library's and our own left out."""
    nodes = [node for path in (ROOT / "src").rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"headrace"}


def test_dependencies_are_what_the_source_imports():
    # Not installed for tests: scripts/kerberos.py builds it.
    distributions = {"gssapi": ["gssapi"], **packages_distributions(), "opentelemetry": ["opentelemetry-sdk"]}
    distributions["openlineage"] = ["openlineage-python"]
    imported = {canonicalize_name(distributions[name][0]) for name in imported_by_source()}
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for name in EXTRAS for text in extras[name])]
    declared = {canonicalize_name(Requirement(text).name) for text in texts}
    # pyspark asks for pandas without declaring it; exporters share OpenTelemetry's namespace.
    assert imported | {"pandas", "opentelemetry-exporter-otlp-proto-http"} == declared


def test_every_module_names_its_license():
    modules = [path for folder in ("src", "scripts", "examples") for path in (ROOT / folder).rglob("*.py")]
    bare = [str(path) for path in modules if not path.read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")]
    assert modules
    assert bare == []


def questions(source: str) -> list[str]:
    """The strings that stand as documentation and open like a question instead of saying what something is or does."""
    nodes = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if re.match(r"\s*(Who|Whom|Whose|What|Whether|How)\b", text)]


def test_docstrings_that_open_like_a_question_are_found():
    source = '''
class Task:
    """A unit of work."""

    id: int
    """Whose it is."""

    def run(self):
        """What runs.

        And more.
        """
'''
    assert [text.split()[0] for text in questions(source)] == ["Whose", "What"]


def test_no_docstring_opens_like_a_question():
    modules = sorted((ROOT / "src").rglob("*.py"))
    found = [f"{path.name}: {text}" for path in modules for text in questions(path.read_text())]
    assert len(modules) > 400
    assert found == []


def packages() -> list[str]:
    """All packages below headrace, by their paths; ``api`` begins with its own table."""
    source = ROOT / "src" / "headrace"
    found = (path.parent for path in source.rglob("__init__.py") if path.parent.name != "api")
    return sorted(str(directory.relative_to(source)) for directory in found)


@pytest.mark.parametrize("package", packages()[1:])
def test_each_package_says_where_to_begin(package: str):
    directory = ROOT / "src" / "headrace" / package
    said = re.search(r"Begin\s+with\s+(?:`+([\w.]+)`+|the first)", (directory / "__init__.py").read_text())
    assert said is not None
    if said[1] is not None:
        path = said[1].replace(".", "/")
        assert any((directory / each).exists() for each in (f"{path}.py", f"{Path(path).parent}.py"))


def test_support_code_stays_small():
    modules = (ROOT / "tests" / "support").rglob("*.py")
    assert 1000 < sum(len(path.read_text().splitlines()) for path in modules) < 2000
