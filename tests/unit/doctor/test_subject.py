# SPDX-License-Identifier: Apache-2.0
"""Connectors of the config topic, as checks see them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.config.distributed_config import DistributedConfig
from headrace.doctor.subject import KafkaView, connectors_of
from headrace.model.cluster_config_state import ClusterConfigState

WORKER = {
    "group.id": "g",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
}


def test_references_are_resolved_where_they_can_be(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("login=known\n")
    providers = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}
    state = ClusterConfigState(
        connector_configs={
            "a": {
                "connector.class": "VerifiableSource",
                "producer.override.sasl.jaas.config": f"${{file:{secrets}:login}}",
            },
            "b": {"connector.class": "Unknown", "topics": "t", "x": f"${{file:{tmp_path}/missing:login}}"},
            "c": {"connector.class": "Unknown"},
        },
        task_counts={"a": 2},
    )
    a, b, c = connectors_of(DistributedConfig({**WORKER, **providers}), state)
    assert a.config["producer.override.sasl.jaas.config"] == "known" and a.tasks == 2 and a.kind == "source"
    assert "${file:" in (a.stored["producer.override.sasl.jaas.config"] or "")
    assert b.config == b.stored and b.kind == "sink" and b.tasks == 0
    assert c.kind == "source" and c.config["name"] == "c"


def test_brokers_that_cannot_be_asked_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    begun = threading.Event()

    def refuse(*given: object) -> None:
        asked.append(given)
        begun.wait(5)
        raise ConnectError("no answer")

    monkeypatch.setattr("headrace.doctor.subject.ClusterQueries", refuse)
    view, failures = KafkaView(), []

    def ask(acks: str) -> None:
        try:
            view.queries({"bootstrap.servers": "b:1", "acks": acks})
        except ConnectError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=ask, args=(acks,)) for acks in ("0", "1")]
    for thread in threads:
        thread.start()
    begun.set()
    for thread in threads:
        thread.join(10)
    assert failures == ["no answer"] * 2 and len(asked) == 1
    view.close()
