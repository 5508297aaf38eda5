# SPDX-License-Identifier: Apache-2.0
"""Events of connectors, as a backend of OpenLineage gets them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess


class Backend(ThreadingHTTPServer):
    """Keeps the events that it gets, each read by OpenLineage's own classes, which check ids and times."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Requests)
        self.events: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def of(self, job: str) -> list[dict[str, Any]]:
        return [event for event in list(self.events) if event["job"]["name"] == job]

    def states(self, job: str) -> list[str]:
        return [event["eventType"] for event in self.of(job)]

    def await_event(self, job: str, state: str, **wanted: Any) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            events = [event for event in self.of(job) if event["eventType"] == state]
            return next((e for e in events if all(named(e[kind]) == value for kind, value in wanted.items())), None)

        return wait_for(found, 40, lambda: f"{state} {wanted}: {json.dumps(self.of(job), indent=1)[-3000:]}")

    def await_fields(self, job: str, kind: str, wanted: list[tuple[str, str]]) -> None:
        """Wait until the newest event has these fields of its only dataset of the kind."""

        def newest() -> list[tuple[str, str]]:
            return [field for dataset in self.of(job)[-1][kind] for field in fields(dataset)]

        wait_for(lambda: newest() == wanted, 40, lambda: f"{wanted}: {self.of(job)[-1]}")


class _Requests(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/api/v1/lineage"
        RunEvent(
            eventTime=event["eventTime"],
            eventType=RunState[event["eventType"]],
            run=Run(event["run"]["runId"]),
            job=Job(event["job"]["namespace"], event["job"]["name"]),
            producer=event["producer"],
        )
        self.server.events.append(event)
        self.send_response(201)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


def named(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["namespace"], each["name"]) for each in datasets]


def fields(dataset: dict[str, Any]) -> list[tuple[str, str]]:
    schema = dataset["facets"].get("schema", {"fields": []})
    return [(field["name"], field["type"]) for field in schema["fields"]]


@pytest.fixture
def backend() -> Iterator[Backend]:
    running = Backend()
    yield running
    running.close()


def test_runs_of_connectors_with_their_datasets_and_schemas(
    own_worker: WorkerProcess, backend: Backend, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    lines, output = tmp_path / "lines.txt", tmp_path / "output.txt"
    lines.write_text("1\n")
    own_worker.properties["lineage.enabled"] = "true"
    own_worker.environment = {"OPENLINEAGE_URL": f"http://127.0.0.1:{backend.server_port}"}
    own_worker.start(path="/connectors")
    namespace = f"kafka://{broker.bootstrap_servers}"
    topic, converter = (namespace, unique), "org.apache.kafka.connect.json.JsonConverter"

    source = {"connector.class": "FileStreamSource", "file": str(lines), "topic": unique, "value.converter": converter}
    hoist = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "line"}
    own_worker.create(unique, **source, **hoist)
    start = backend.await_event(unique, "START")
    assert start["job"]["namespace"] == f"group-{unique}"
    assert start["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    running = backend.await_event(unique, "RUNNING", inputs=[("file", str(lines))], outputs=[topic])
    assert running["run"]["runId"] == start["run"]["runId"]
    wait_for(
        lambda: fields(backend.of(unique)[-1]["outputs"][0]) == [("line", "string")],
        40,
        lambda: f"{backend.of(unique)[-1]}",
    )

    sink = f"{unique}-sink"
    sinks = {"connector.class": "FileStreamSink", "topics": unique, "file": str(output), "value.converter": converter}
    own_worker.create(sink, **sinks)
    backend.await_event(sink, "START", inputs=[topic], outputs=[("file", str(output))])
    backend.await_fields(sink, "inputs", [("line", "string")])
    rows = f"{unique}-rows"
    parquet = {"connector.class": "SparkSink", "spark.format": "parquet", "path": str(tmp_path / "rows")}
    own_worker.create(rows, **parquet, **{"topics": unique, "value.converter": converter})
    backend.await_event(rows, "START", inputs=[topic], outputs=[("file", str(tmp_path / "rows"))])
    backend.await_fields(rows, "outputs", [("line", "string")])
    own_worker.delete(rows)

    # A task that fails ends the run, and its restart begins another.
    broken = f"{unique}-broken"
    cast = {"transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "x:int8"}
    own_worker.create(broken, **source, **cast)
    own_worker.wait_for_tasks(broken, "FAILED")
    failed = backend.await_event(broken, "FAIL")
    assert failed["run"]["facets"]["errorMessage"]["message"]
    assert "Error" in failed["run"]["facets"]["errorMessage"]["stackTrace"]
    own_worker.delete(broken)

    # An orderly stop completes; a resume is another run.
    assert own_worker.rest.put(f"/connectors/{unique}/stop").status_code == 204
    backend.await_event(unique, "COMPLETE")
    assert own_worker.rest.put(f"/connectors/{unique}/resume").status_code == 202
    wait_for(lambda: backend.states(unique)[-1] in ("START", "RUNNING"), 40, lambda: f"{backend.states(unique)}")
    assert len({event["run"]["runId"] for event in backend.of(unique)}) == 2

    # A backend that is gone: one line, and all goes on.
    backend.close()
    own_worker.delete(sink)
    wait_for(lambda: "Lineage events cannot be sent" in own_worker.log, 60, lambda: own_worker.log[-3000:])
    with lines.open("a") as appending:
        appending.write("2\n")
    wait_for_values(broker.bootstrap_servers, unique, 2)
    again = Backend(backend.server_port)
    try:
        own_worker.delete(unique)
        again.await_event(unique, "COMPLETE")
    finally:
        assert own_worker.stop() == 0
        again.close()
    assert own_worker.log.count("Lineage events cannot be sent") == 1
    assert own_worker.log.count("Lineage events are sent again") == 1
