# SPDX-License-Identifier: Apache-2.0
"""Checks of the worker's properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.distributed_config import DistributedConfig
from headrace.config.standalone_config import StandaloneConfig
from headrace.config.worker_config import WorkerConfig
from headrace.doctor import properties
from headrace.doctor.findings import Level
from headrace.doctor.properties import PluginFacts
from headrace.doctor.security import check_security
from headrace.doctor.subject import Subject
from headrace.model.info import PluginInfo

NEEDED = {
    "group.id": "g",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
    "listeners": "http://127.0.0.1:8083",
    "connectors.denylist": "FileStream*",
}


def worker(**more: str) -> DistributedConfig:
    return DistributedConfig({**NEEDED, **{name.replace("_", "."): text for name, text in more.items()}})


def test_mistakes() -> None:
    (mistaken,) = properties.check_properties(Subject("w.properties", mistake="two mistakes"))
    (valid,) = properties.check_properties(Subject("w.properties", NEEDED, worker()))
    assert mistaken.level is Level.PROBLEM and mistaken.found == "w.properties: two mistakes"
    assert valid.level is Level.OK and "distributed" in valid.found


@pytest.mark.parametrize(("support", "level"), [("disabled", Level.WARNING), ("enabled", Level.OK)])
def test_exactly_once(support: str, level: Level) -> None:
    assert properties.exactly_once_finding(worker(exactly_once_source_support=support)).level is level


def test_a_standalone_worker_is_at_least_once() -> None:
    config: WorkerConfig = StandaloneConfig({**NEEDED, "offset.storage.file.filename": "offsets"})
    assert properties.exactly_once_finding(config).level is Level.WARNING


def test_plugins() -> None:
    good, bad = PluginInfo("Good", "source", "1"), PluginInfo("Bad", "unknown", "", "importing bad failed")
    assert [each.level for each in properties.plugin_findings(PluginFacts([good]))] == [Level.OK]
    found = [*properties.plugin_findings(PluginFacts([good, bad], ["/nowhere"]))]
    assert [each.level for each in found] == [Level.PROBLEM, Level.PROBLEM]
    assert "/nowhere" in found[0].found and found[1].found == "Bad cannot be loaded: importing bad failed"


def test_places_of_plugins(tmp_path: Path) -> None:
    (tmp_path / "plugin.jar").touch()
    path = f"{tmp_path},{tmp_path}/plugin.jar,{tmp_path}/missing"
    found = [
        *properties.check_plugins(Subject("w.properties", {**NEEDED, "plugin.path": path}, worker(plugin_path=path)))
    ]
    assert [each.found for each in found if "plugin.path" in each.found] == [
        f"plugin.path: {tmp_path}/missing is no directory or archive that can be read"
    ]


def test_files_of_config_providers(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("a=b")
    raw = {"config.providers": "file", "sasl.jaas.config": f"${{file:{secrets}:a}} ${{file:{tmp_path}/missing:a}}"}
    (finding,) = properties.check_config_providers(Subject(raw=raw))
    assert finding.level is Level.PROBLEM and finding.found == f"{tmp_path}/missing cannot be read"
    raw["sasl.jaas.config"] = f"${{file:{secrets}:a}}"
    assert [each.level for each in properties.check_config_providers(Subject(raw=raw))] == [Level.OK]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"connectors_denylist": ""}, "FileStreamSource"),
        ({"listeners": "http://:8083"}, "without authentication"),
        ({"listeners": "http://:8083", "rest_authentication": "certificate"}, "without TLS"),
        ({"rest_authentication": "certificate"}, "not recorded"),
        ({"plugin_module_prefixes": "*"}, "any Python class"),
        ({"singer_commands_allowed": "*"}, "start any program"),
        ({"rest_allowed_hosts": "*"}, "pages of other sites"),
    ],
)
def test_security(more: dict[str, str], found: str) -> None:
    findings = [*check_security(Subject(None, {}, worker(**more)))]
    assert any(found in each.found and each.level is Level.WARNING and each.remedy for each in findings), findings


def test_a_worker_about_which_nothing_stands_out() -> None:
    assert [each.level for each in check_security(Subject(None, {}, worker()))] == [Level.OK]


def test_a_file_with_secrets_that_all_can_read(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("")
    file.chmod(0o644)
    subject = Subject(str(file), {"ssl.key.password": "secret"}, worker())
    assert [each.found for each in check_security(subject)] == [f"{file} has secrets, and all users can read it"]
    file.chmod(0o600)
    assert [each.level for each in check_security(subject)] == [Level.OK]
