# SPDX-License-Identifier: Apache-2.0
"""Passwords of databases: nothing that Spark shows or writes has them, nor any answer to a user who may only look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx2
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres, fetched_driver
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

CANARY: Final = "canary-5120"
CANARIES: Final = re.compile(rf"{CANARY}-\w+")
LIST: Final = "length=10000&details=true&planDescription=true"
RULES: Final = "rules: [{users: [emil], role: editor}, {users: [vera], role: viewer}]"
CONVERTERS: Final = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def worker(
    broker: EmbeddedBroker, postgres: Postgres, events: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A source, a query's reference table and a sink have worked with PostgreSQL; ``emil`` is the client's user."""
    directory = tmp_path_factory.mktemp("jdbc-secrets")
    (directory / "users").write_text("emil=emil\nvera=vera\n")
    (directory / "rules").write_text(RULES)
    process = WorkerProcess(
        directory,
        broker.bootstrap_servers,
        **{
            "group.id": "headrace-jdbc-secrets",
            "spark.jars": or_skip(fetched_driver),
            "rest.authentication": "basic",
            "rest.basic.auth.credentials.file": str(directory / "users"),
            "rest.authorization.file": str(directory / "rules"),
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
            "spark.hadoop.fs.azure.account.key.box": f"{CANARY}-account",
            "spark.own.db.pwd": f"{CANARY}-own",
        },
    )
    process.rest.auth = ("emil", "emil")
    postgres.sql("CREATE TABLE hidden_in (id bigint PRIMARY KEY); INSERT INTO hidden_in VALUES (1), (2)")
    try:
        process.start()
        url = f"{postgres.jdbc_url}?sslpassword={CANARY}-url"
        jdbc = {"spark.format": "jdbc", "spark.option.url": url, "spark.option.user": USER, **CONVERTERS}
        process.create(
            "hidden-source",
            **{
                **{"connector.class": "SparkTableSource", **jdbc, "spark.option.password": f"{CANARY}-source"},
                **{"topic": "hidden", "table": "hidden_in", "mode": "incrementing", "incrementing.column": "id"},
                **{"spark.option.accessToken": f"{CANARY}-token", "transforms": "q", "transforms.q.type": "SparkSql"},
                "transforms.q.query": "SELECT struct(value.id, t.id AS other) AS value FROM records, t",
                "transforms.q.table.t": f"format:jdbc,dbtable:hidden_in,user:{USER},password:{CANARY}-table",
                "transforms.q.table.t.url": postgres.jdbc_url,
            },
        )
        wait_for_values(broker.bootstrap_servers, "hidden", 4)
        sink = {"connector.class": "SparkSink", **jdbc, "spark.option.password": f"{CANARY}-sink", "topics": "hidden"}
        sink |= {"table": "hidden_out", "auto.create": "true", "value.schema": "id BIGINT, other BIGINT"}
        process.create("hidden-sink", **sink, **{"rotate.interval.ms": "200"})
        wait_for(lambda: "hidden_out" in str(postgres.sql("SELECT table_name FROM information_schema.tables")), 60)
        wait_for(lambda: postgres.sql("SELECT count(*) FROM hidden_out") == [["4"]], 60, lambda: process.log[-3000:])
        yield process
    finally:
        process.close()
        postgres.sql("DROP TABLE IF EXISTS hidden_in, hidden_out, headrace_offsets")


def test_no_page_of_sparks_ui_shows_one(worker: WorkerProcess) -> None:
    found = re.search(r"UI at (http://localhost:\d+)", worker.log)
    assert found is not None
    with httpx2.Client(base_url=found[1], timeout=60, follow_redirects=True) as ui:
        [application] = ui.get("/api/v1/applications").json()
        api = f"/api/v1/applications/{application['id']}"
        pages = ["/jobs/", "/stages/", "/storage/", "/environment/", "/executors/", "/SQL/", f"{api}/environment"]
        pages += [f"{api}/{part}?{LIST}" for part in ("sql", "jobs", "stages", "executors", "allexecutors")]
        executions = [each["id"] for each in ui.get(f"{api}/sql?{LIST}").json()]
        pages += [f"/SQL/execution/?id={number}" for number in executions]
        pages += [f"/jobs/job/?id={each['jobId']}" for each in ui.get(f"{api}/jobs").json()]
        pages += [f"/stages/stage/?id={each['stageId']}&attempt=0" for each in ui.get(f"{api}/stages").json()]
        shown = {path: ui.get(path).text for path in pages}
    assert executions and "JDBCRelation" in shown[f"{api}/sql?{LIST}"], "plans of reads by JDBC are among them"
    assert '"spark.own.db.pwd"' in shown[f"{api}/environment"].replace(" ", ""), "the settings are among them"
    assert {path: CANARIES.findall(text) for path, text in shown.items() if CANARY in text} == {}


def test_no_log_has_one(worker: WorkerProcess, events: Path) -> None:
    written = "".join(file.read_text(errors="replace") for file in events.rglob("*") if file.is_file())
    assert "JDBCRelation" in written
    assert CANARIES.findall(written) == []
    assert CANARIES.findall(worker.log) == []


def test_no_answer_to_a_viewer_has_one(worker: WorkerProcess) -> None:
    paths = ["/connectors?expand=info&expand=status"]
    for name in ("hidden-source", "hidden-sink"):
        paths += [f"/connectors/{name}{part}" for part in ("", "/config", "/tasks", "/status?expand=spark")]
    for path in paths:
        assert CANARIES.findall(worker.rest.get(path, auth=("vera", "vera")).raise_for_status().text) == [], path
    complete = worker.rest.get("/connectors/hidden-source/config").json()
    assert complete["spark.option.password"] == f"{CANARY}-source", "who may change it may read it"
    answer = worker.rest.put("/connector-plugins/SparkTableSource/config/validate", json=complete)
    assert CANARIES.findall(answer.raise_for_status().text) == []


def test_a_configuration_that_was_read_with_masks_is_refused(worker: WorkerProcess) -> None:
    masked = worker.rest.get("/connectors/hidden-source/config", auth=("vera", "vera")).json()
    for path in ("/connectors/hidden-source/config", "/connectors/hidden-new/config"):
        answer = worker.rest.put(path, json={**masked, "name": path.split("/")[2]})
        assert answer.status_code == 400, answer.text
        assert "Invalid value '[hidden]' for configuration spark.option.password" in answer.json()["message"]
    kept = worker.rest.get("/connectors/hidden-source/config").json()
    assert kept["spark.option.password"] == f"{CANARY}-source"
