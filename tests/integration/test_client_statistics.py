# SPDX-License-Identifier: Apache-2.0
"""What a task's clients say of themselves, on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.api.sink import TopicPartition
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.data.client_statistics import ClientStatistics
from headrace.kafka.data.record_producer import RecordProducer
from headrace.kafka.data.sink_consumer import SinkConsumer
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.metrics.client_metrics import METRICS
from headrace.metrics.connect_metric import untagged
from headrace.task.topic_batch import TopicBatch
from tests.support.polling import wait_for
from tests.support.sinks import make_topic

LAG = {"records-lag", "records-lag-max"}
"""These are from what the consumer knows without statistics."""


class Nothing:
    """A listener that begins anywhere."""

    def assigned(self, partitions: object, committed: object) -> Mapping[TopicPartition, int]:
        return {}

    def revoked(self, partitions: object) -> None: ...

    def lost(self, partitions: object) -> None: ...


class Reported(dict[str, float]):
    """The newest report, by names without groups and tags."""

    def report(self, values: Mapping[str, float]) -> None:
        self.clear()
        for tagged, value in values.items():
            group, name, tags = untagged(tagged) or ("", "", {})
            assert tags == {"client-id": "me"}
            self[f"{group}/{name}"] = value


class Requests:
    """The numbers of requests so far, one of each report."""

    def __init__(self) -> None:
        self.totals: list[float] = []

    def report(self, values: Mapping[str, float]) -> None:
        self.totals += [
            value for tagged, value in values.items() if (untagged(tagged) or ("", "", {}))[1] == "request-total"
        ]

    def none_for_two_seconds(self, serve: Callable[[float], object]) -> bool:
        serve(0.1)
        return len(self.totals) > 10 and len(set(self.totals[-11:])) == 1


def names(*groups: str) -> set[str]:
    return {f"{one.group}/{one.name}" for one in METRICS if one.group.startswith(groups) and one.name not in LAG}


def test_a_producer_and_a_consumer(broker: EmbeddedBroker, unique: str) -> None:
    make_topic(broker.bootstrap_servers, unique)
    base = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "me"}
    of_producer, of_consumer = Reported(), Reported()
    producer = RecordProducer(base, every_delivery=True, statistics=ClientStatistics(0.2, of_producer.report))
    producer.send_all(TopicBatch(unique, [b"12345"] * 100))
    assert producer.in_flight == 100
    assert producer.flush(20)
    assert producer.in_flight == 0

    def served() -> bool:
        producer.send(unique, None, b"12345")
        producer.serve(0.1)
        return set(of_producer) == names("producer")

    wait_for(served, 20, lambda: f"{names('producer') ^ set(of_producer)}")
    wait_for(lambda: served() and of_producer["producer-metrics/record-send-total"] >= 100, 20, "all that was sent")
    assert of_producer["producer-metrics/connection-count"] >= 1
    assert of_producer["producer-metrics/outgoing-byte-total"] > 500
    producer.close()

    group = {"group.id": f"group-{unique}", "auto.offset.reset": "earliest"}
    consumer = SinkConsumer({**base, **group}, ClientStatistics(0.2, of_consumer.report))
    consumer.subscribe([unique], Nothing())
    read = [0]

    def consumed(name: str) -> float:
        read[0] += len(consumer.consume(50, 0.1))
        return of_consumer.get(name, 0)

    total = "consumer-fetch-manager-metrics/records-consumed-total"  # also of what waits in the client's queue
    wait_for(lambda: consumed(total) >= 100 and read[0] >= 100, 30, lambda: f"{read}")
    wait_for(lambda: consumed("consumer-fetch-manager-metrics/fetch-latency-max") > 0, 10, "a fetch that was timed")
    assert set(of_consumer) == names("consumer")
    assert of_consumer["consumer-metrics/connection-count"] >= 1
    assert of_consumer["consumer-coordinator-metrics/assigned-partitions"] == 1
    end = consumer.end_offset(TopicPartition(unique, 0))
    assert end is not None and end >= 100
    consumer.close()


def test_clients_that_wait_send_no_requests(broker: EmbeddedBroker, unique: str) -> None:
    """What a client has once asked for, it may ask for every second as long as it lives."""
    base = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "me"}
    of_producer, of_consumer = Requests(), Requests()
    producer = TransactionalProducer(
        {**base, "transactional.id": unique}, statistics=ClientStatistics(0.2, of_producer.report)
    )
    make_topic(broker.bootstrap_servers, unique)
    producer.init_transactions(20, unique)
    wait_for(lambda: of_producer.none_for_two_seconds(producer.records.serve), 20, lambda: f"{of_producer.totals}")
    producer.close()

    consumer = SinkConsumer({**base, "group.id": unique}, ClientStatistics(0.2, of_consumer.report))
    assert consumer.brokers_answer(20)
    wait_for(lambda: of_consumer.none_for_two_seconds(consumer.client.poll), 20, lambda: f"{of_consumer.totals}")
    consumer.close()
