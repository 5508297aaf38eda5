# SPDX-License-Identifier: Apache-2.0
"""Traces of a worker and its tasks, as a receiver of OTLP gets them."""

from __future__ import annotations

import collections
import contextlib
import itertools
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
CANNOT, AGAIN = "Traces cannot be sent", "Traces are sent again"


class Collector(ThreadingHTTPServer):
    """Decodes what it gets by the real protobuf, at any port or a given one."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Requests)
        self.received: list[ResourceSpans] = []
        self.api_keys: set[str | None] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def spans(self, name: str, **attributes: str | int) -> list[Span]:
        """Those that have arrived with the name and attributes, whose names are written with underscores here."""
        found = (span for group in list(self.received) for scope in group.scope_spans for span in scope.spans)
        wanted = {key.replace("_", "."): value for key, value in attributes.items()}
        return [span for span in found if span.name == name and wanted.items() <= about(span).items()]

    def one(self, name: str, **attributes: str | int) -> Span:
        return wait_for(lambda: next(iter(self.spans(name, **attributes)), None), 40, lambda: f"{name} {self.names()}")

    def names(self) -> set[str]:
        return {span.name for group in self.received for scope in group.scope_spans for span in scope.spans}

    def services(self) -> set[tuple[str, str]]:
        """Names and instances of the services that have sent something."""
        resources = [{each.key: each.value.string_value for each in g.resource.attributes} for g in self.received]
        return {(each["service.name"], each["service.instance.id"]) for each in resources}


class _Requests(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
            self.send_error(404)
            return
        self.server.received += ExportTraceServiceRequest.FromString(body).resource_spans
        self.server.api_keys.add(self.headers["api-key"])
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None: ...


def about(span: Span) -> dict[str, str | int]:
    return {
        each.key: each.value.int_value if each.value.HasField("int_value") else each.value.string_value
        for each in span.attributes
    }


def linked(span: Span) -> list[str]:
    return [link.trace_id.hex() for link in span.links]


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.close()


def reports(worker: WorkerProcess) -> list[list[str]]:
    """Return which of the two lines the worker and each of its tasks have logged, in their order."""
    found = collections.defaultdict(list)
    for task, report in re.findall(rf" (?:INFO|WARNING) (\[\S+\] )?({CANNOT}|{AGAIN})", worker.log):
        found[task].append(report)
    return list(found.values())


def test_requests_rebalances_starts_transactions_and_puts(
    own_worker: WorkerProcess, collector: Collector, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    lines, output = tmp_path / "lines.txt", tmp_path / "output.txt"
    lines.write_text("1\n2\n")
    own_worker.properties["telemetry.traces"] = "otlp"
    own_worker.environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret",
        "OTEL_SERVICE_NAME": f"service-{unique}",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2",
    }
    own_worker.start(path="/connectors")
    rebalance = collector.one("rebalance")
    assert about(rebalance)["headrace.group.generation"] == 1
    assert rebalance.start_time_unix_nano < rebalance.end_time_unix_nano

    # A caller's trace goes on in the worker.
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(lines), "topic": unique}
    traced = {"transforms": "h", "transforms.h.type": "InsertHeader", "transforms.h.header": "traceparent"}
    created = own_worker.rest.post(
        "/connectors",
        json={"name": unique, "config": {**config, **traced, "transforms.h.value.literal": PARENT}},
        headers={"traceparent": PARENT},
    )
    assert created.status_code == 201, created.text
    request = collector.one("POST /connectors")
    assert request.trace_id.hex() == TRACE and request.parent_span_id.hex() == PARENT.split("-")[2]
    assert about(request)["http.response.status_code"] == 201

    assert wait_for_values(broker.bootstrap_servers, unique, 2) == [b"1", b"2"]
    start = collector.one("task start", headrace_connector=unique, headrace_task=0)
    assert start.end_time_unix_nano > start.start_time_unix_nano
    transaction = collector.one("transaction", headrace_connector=unique)
    assert linked(transaction) == [TRACE]
    assert about(transaction)["messaging.batch.message_count"] == 2
    assert transaction.kind == Span.SPAN_KIND_PRODUCER
    # The records keep their context, and the sink's span is linked with it: once, as all have the same.
    headers = [read.headers for read in read_committed(broker.bootstrap_servers, unique)]
    assert headers == [[("traceparent", PARENT.encode())]] * 2
    sink = f"{unique}-sink"
    own_worker.create(sink, **{"connector.class": "FileStreamSink", "topics": unique, "file": str(output)})
    wait_for(lambda: output.exists() and output.read_text() == "1\n2\n", 40, "the sink's lines")
    put = collector.one("put", headrace_connector=sink)
    assert linked(put) == [TRACE]
    assert (about(put)["messaging.consumer.group.name"], put.kind) == (f"connect-{sink}", Span.SPAN_KIND_CONSUMER)

    worker = f"127.0.0.1:{own_worker.port}"
    assert collector.services() == {
        (f"service-{unique}", instance) for instance in (worker, f"{unique}-0", f"{sink}-0")
    }
    assert collector.api_keys == {"secret"}

    # A collector that is gone: each process logs one line each time, and all goes on.
    def own_log() -> str:
        return own_worker.log[-3000:]

    port = collector.server_port
    collector.close()
    with lines.open("a") as appending:
        for line in range(3, 9):
            appending.write(f"{line}\n")
            appending.flush()
            wait_for_values(broker.bootstrap_servers, unique, line)
    own_worker.rest.get("/connectors")
    wait_for(lambda: [process[-1] for process in reports(own_worker)] == [CANNOT] * 3, 60, own_log)
    assert own_worker.rest.get("/connectors").status_code == 200
    again = Collector(port)
    try:
        own_worker.rest.get("/connectors")
        wait_for(lambda: AGAIN in own_worker.log, 40, own_log)
    finally:
        again.close()
    assert own_worker.stop() == 0
    for process in reports(own_worker):
        assert process == list(itertools.islice(itertools.cycle([CANNOT, AGAIN]), len(process)))


def test_a_trace_continues_in_the_leader_that_a_request_is_forwarded_to(
    own_worker: WorkerProcess, collector: Collector, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with contextlib.closing(WorkerProcess(tmp_path / "other", broker.bootstrap_servers)) as other:
        workers = (own_worker, other)
        other.properties["group.id"] = own_worker.properties["group.id"]
        for name, value in own_worker.properties.items():
            if name.endswith("storage.topic"):
                other.properties[name] = value
        for worker in workers:
            worker.properties["telemetry.traces"] = "otlp"
            worker.environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}
            worker.start(path="/connectors")
        wait_for(lambda: len(collector.spans("rebalance", headrace_group_generation=2)) == 2, 60, "a group of two")
        name = "PUT /connectors/{connector}/pause"
        for worker, digit in zip(workers, "12", strict=True):
            refused = worker.rest.put(
                "/connectors/none/pause", headers={"traceparent": PARENT.replace("4bf9", f"{digit}bf9")}
            )
            assert refused.status_code == 404, refused.text
        wait_for(lambda: len(collector.spans(name)) == 3, 20, lambda: f"{collector.names()}")
        spans = {span.span_id: span for span in collector.spans(name)}
        [forwarded] = [span for span in spans.values() if span.parent_span_id in spans]
        assert forwarded.trace_id == spans[forwarded.parent_span_id].trace_id
        assert forwarded.trace_id.hex()[1:] == TRACE[1:]
