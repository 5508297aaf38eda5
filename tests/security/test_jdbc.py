# SPDX-License-Identifier: Apache-2.0
"""To validate a connector connects to no database that makes files, runs scripts or loads classes for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess, mistakes

SOURCE = {"connector.class": "SparkTableSource", "topic": "any", "spark.format": "jdbc", "table": "x", "mode": "bulk"}


def test_a_database_on_files_is_not_made(worker: WorkerProcess, tmp_path: Path) -> None:
    """Derby's driver comes with Spark."""
    place = tmp_path / "made"
    found = mistakes(worker, {**SOURCE, "spark.option.url": f"jdbc:derby:{place};create=true"})
    assert "its option create is dangerous" in found["spark.option.url"][0]
    assert "spark.jdbc.urls.allowed" in found["spark.option.url"][0]
    assert not place.exists()


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:derby:memory:x",
        "jdbc:sqlite:/etc/passwd",
        "jdbc:postgresql://127.0.0.1:9/x?socketFactory=java.io.FileOutputStream&socketFactoryArg=/tmp/x",
        "jdbc:mysql://127.0.0.1:9/x?autoDeserialize=true&queryInterceptors=X",
    ],
)
def test_urls_that_are_refused(worker: WorkerProcess, url: str) -> None:
    found = mistakes(worker, {**SOURCE, "spark.option.url": url, "spark.option.password": "not-to-be-shown"})
    assert "A connector may not connect to jdbc:" in found["spark.option.url"][0]
    assert "not-to-be-shown" not in str(found)


def test_a_driver_that_the_worker_does_not_have_is_named(worker: WorkerProcess) -> None:
    """The worker has none but Derby's."""
    for url, package in (
        ("jdbc:mysql://me:canary@127.0.0.1:9/x", "com.mysql:mysql-connector-j:"),
        ("jdbc:postgresql://127.0.0.1:9/x?password=canary", "org.postgresql:postgresql:"),
        ("jdbc:other://127.0.0.1:9/x?password=canary", "<group>:"),
    ):
        reported = mistakes(worker, {**SOURCE, "spark.option.url": url})["spark.option.url"][0]
        assert (
            f"spark.jars.packages={package}" in reported
            and "127.0.0.1:9/x' for" in reported
            and "canary" not in reported
        )
    named = {**SOURCE, "spark.option.url": "jdbc:postgresql://127.0.0.1:9/x", "spark.option.driver": "com.example.Typo"}
    reported = mistakes(worker, named)["spark.option.driver"][0]
    assert "com.example.Typo" in reported and "org.postgresql.Driver" in reported


def test_options_that_are_secrets_are_passwords_and_shown_nowhere(worker: WorkerProcess, tmp_path: Path) -> None:
    """The value stands where an error shows it, and in a URL."""
    secret = "canary-9081726354"
    named = {f"spark.option.{name}": secret for name in ("password", "s3.secret.key", "sasToken", "fs.access-key")}
    table = {"transforms.q.table.t": f"format:jdbc,url:jdbc:postgresql://127.0.0.1:9/x?password={secret},dbtable:t"}
    config = {"connector.class": "SparkFileSource", "topic": "any", "path": str(tmp_path), "spark.format": "json"}
    wrong = {**config, **named, **table, "name": "checked", "spark.schema": f"a {secret}"}
    message = wait_for(lambda: validated(worker, wrong)["spark.schema"]["value"]["errors"], 60, "Spark's word")
    assert "[hidden]" in message[0]
    assert secret not in message[0]
    shown = validated(worker, wrong)
    for name in named:
        assert (shown[name]["definition"]["type"], shown[name]["value"]["value"]) == ("PASSWORD", "[hidden]")
    assert secret not in worker.log


def validated(worker: WorkerProcess, config: dict[str, str]) -> dict[str, Any]:
    answer = worker.rest.put(f"/connector-plugins/{config['connector.class']}/config/validate", json=config)
    return {each["value"]["name"]: each for each in answer.raise_for_status().json()["configs"] if each["value"]}


def test_dangerous_jdbc_options_are_refused_wherever_they_are_given(worker: WorkerProcess, tmp_path: Path) -> None:
    """Reference tables, other names of the format, other connectors, and classes that are no drivers."""
    url = f"jdbc:derby:{tmp_path / 'made'};create=true"
    file = {"connector.class": "SparkFileSource", "topic": "any", "path": str(tmp_path), "spark.option.url": url}
    assert "dangerous" in mistakes(worker, {**file, "spark.format": "JDBC"})["spark.option.url"][0]
    table = {"transforms.q.table.t": f"format:jdbc,dbtable:x,url:{url}", "transforms.q.value.schema": "STRING"}
    query = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": "SELECT * FROM records, t"}
    lines = {"connector.class": "FileStreamSource", "topic": "any", "file": "/dev/null"}
    assert "dangerous" in mistakes(worker, {**lines, **query, **table})["transforms.q.query"][0]
    given = {**SOURCE, "spark.option.url": "jdbc:postgresql://127.0.0.1:9/x", "spark.option.driver": "java.util.Random"}
    assert "is no JDBC driver" in mistakes(worker, given)["spark.option.driver"][0]
    assert not (tmp_path / "made").exists()
