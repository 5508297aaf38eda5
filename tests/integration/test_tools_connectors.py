# SPDX-License-Identifier: Apache-2.0
"""The connectors that are for tests and demonstrations, by Java's class names, on a real worker."""

from __future__ import annotations

import json
import re

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

TOOLS = "org.apache.kafka.connect.tools"


def test_mock_connectors_fail_as_configured(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    fail = {"tasks.max": "1", "delay_ms": "100"}
    sink, source = f"{unique}-sink", f"{unique}-source"
    more = {"mock_mode": "task-failure", "topics": unique}
    worker.create(sink, **{"connector.class": f"{TOOLS}.MockSinkConnector", **fail, **more})
    worker.create(
        source, **{"connector.class": f"{TOOLS}.MockSourceConnector", **fail, "mock_mode": "connector-failure"}
    )
    # The topic is empty: nothing but its own wish wakes the task up.
    worker.wait_for_tasks(sink, "FAILED")
    assert "mock_mode=task-failure" in worker.status(sink)["tasks"][0]["trace"]
    wait_for(lambda: worker.status(source)["connector"]["state"] == "FAILED", 30, "the connector's failure")
    assert "mock_mode=connector-failure" in worker.status(source)["connector"]["trace"]
    worker.delete(sink)
    worker.delete(source)


def test_schema_source_to_verifiable_sink(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    json_converter = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    source = {"topic": unique, "num.messages": "10", "multiple.schema": "true", **json_converter}
    worker.create(f"{unique}-source", **{"connector.class": f"{TOOLS}.SchemaSourceConnector", **source})
    values = [json.loads(value or b"") for value in wait_for_values(broker.bootstrap_servers, unique, 10)]
    assert [value["payload"]["seqno"] for value in values] == list(range(10))
    assert [value["schema"]["version"] for value in values] == [1, 2] * 5
    sink = {"topics": unique, "tasks.max": "1", **json_converter}
    worker.create(f"{unique}-sink", **{"connector.class": f"{TOOLS}.VerifiableSinkConnector", **sink})
    line = re.compile(rf'\[{unique}-sink\|task-0\] (\{{"name".*\}})')
    wait_for(lambda: len(line.findall(worker.log)) >= 20, 60, lambda: worker.log[-2000:])
    reported = [json.loads(text) for text in line.findall(worker.log)]
    assert [each["offset"] for each in reported if each.get("flushed")] == [each["offset"] for each in reported[:10]]
    worker.delete(f"{unique}-sink")
    worker.delete(f"{unique}-source")
