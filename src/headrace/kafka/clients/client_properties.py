# SPDX-License-Identifier: Apache-2.0
"""Java client properties and librdkafka's names for them: tables only, used by ``client_config``."""

from __future__ import annotations

JAVA_TO_LIBRDKAFKA = {
    "max.request.size": "message.max.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
}
"""Java's name to librdkafka's, where the values are the same and only the names differ."""

SAME_NAME_COMMON = frozenset(
    {
        "bootstrap.servers", "client.id", "client.dns.lookup", "client.rack", "connections.max.idle.ms",
        "metadata.max.age.ms", "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms",
        "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms",
        "socket.connection.setup.timeout.ms", "security.protocol", "sasl.mechanism", "sasl.kerberos.service.name",
        "ssl.cipher.suites", "ssl.key.password",
    }
)  # fmt: skip

SAME_NAME_PRODUCER = frozenset(
    {
        "acks", "batch.size", "compression.type", "delivery.timeout.ms", "enable.idempotence", "linger.ms",
        "max.in.flight.requests.per.connection", "retries", "transaction.timeout.ms", "transactional.id",
    }
)  # fmt: skip

SAME_NAME_CONSUMER = frozenset(
    {
        "allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "check.crcs", "enable.auto.commit",
        "fetch.max.bytes", "fetch.min.bytes", "group.id", "group.instance.id", "group.protocol",
        "group.remote.assignor", "heartbeat.interval.ms", "isolation.level", "max.partition.fetch.bytes",
        "max.poll.interval.ms", "session.timeout.ms",
    }
)  # fmt: skip

LIBRDKAFKA_ONLY = frozenset(
    {
        "batch.num.messages", "broker.address.family", "broker.address.ttl", "debug", "enable.partition.eof",
        "fetch.message.max.bytes", "fetch.queue.backoff.ms", "fetch.wait.max.ms", "log_level", "message.max.bytes",
        "message.timeout.ms", "queue.buffering.max.kbytes", "queue.buffering.max.messages",
        "queued.max.messages.kbytes", "queued.min.messages", "socket.keepalive.enable", "socket.nagle.disable",
        "socket.timeout.ms", "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
        "ssl.key.location", "ssl.key.pem", "enable.ssl.certificate.verification", "sasl.username", "sasl.password",
        "statistics.interval.ms",
        "sticky.partitioning.linger.ms", "topic.metadata.refresh.interval.ms",
    }
)  # fmt: skip
"""librdkafka's own names, passed on for tuning."""

TRANSLATED_ELSEWHERE = frozenset(
    {
        "buffer.memory", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level",
        "partition.assignment.strategy", "partitioner.class", "partitioner.ignore.keys", "sasl.jaas.config",
        "sasl.kerberos.keytab", "sasl.kerberos.principal",
        "sasl.login.callback.handler.class", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms", "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.header.urlencode", "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url", "ssl.endpoint.identification.algorithm",
        "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password",
        "ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password",
        "ssl.truststore.type",
    }
)  # fmt: skip
"""Java's names that need more than a new name; ``client_config`` and ``security_properties`` translate them."""

WITHOUT_EFFECT = frozenset(
    {
        "auto.include.jmx.reporter", "config.providers", "default.api.timeout.ms", "enable.metrics.push",
        "exclude.internal.topics", "interceptor.classes", "key.deserializer", "key.serializer", "max.block.ms",
        "max.poll.records", "metadata.max.idle.ms", "metric.reporters", "metrics.num.samples",
        "metrics.recording.level", "metrics.sample.window.ms", "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms", "sasl.client.callback.handler.class",
        "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor", "sasl.login.class", "sasl.oauthbearer.config",
        "sasl.oauthbearer.method", "security.providers", "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols", "ssl.engine.factory.class", "ssl.keymanager.algorithm", "ssl.protocol",
        "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
        "transaction.two.phase.commit.enable", "value.deserializer", "value.serializer",
    }
)  # fmt: skip
"""Java's names that have no counterpart in librdkafka, or that callers read themselves (``max.block.ms``)."""

COMMON = SAME_NAME_COMMON | frozenset(JAVA_TO_LIBRDKAFKA) | LIBRDKAFKA_ONLY | TRANSLATED_ELSEWHERE | WITHOUT_EFFECT
KNOWN = COMMON | SAME_NAME_PRODUCER | SAME_NAME_CONSUMER

INTEGERS = frozenset(
    {
        "auto.commit.interval.ms", "batch.size", "buffer.memory", "connections.max.idle.ms", "delivery.timeout.ms",
        "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "heartbeat.interval.ms", "linger.ms",
        "max.in.flight.requests.per.connection", "max.partition.fetch.bytes", "max.poll.interval.ms",
        "max.request.size", "metadata.max.age.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
        "receive.buffer.bytes", "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
        "send.buffer.bytes", "session.timeout.ms", "socket.connection.setup.timeout.ms", "transaction.timeout.ms",
    }
)  # fmt: skip

LIMITS: dict[str, tuple[int, int]] = {
    "batch.size": (1, 2**31 - 1),
    "message.max.bytes": (1000, 1_000_000_000),
    "fetch.max.bytes": (0, 2_147_483_135),
    "fetch.wait.max.ms": (0, 300_000),
    "linger.ms": (0, 900_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "reconnect.backoff.ms": (0, 3_600_000),
    "reconnect.backoff.max.ms": (0, 3_600_000),
    "retry.backoff.ms": (1, 300_000),
    "retry.backoff.max.ms": (1, 300_000),
    "session.timeout.ms": (1, 3_600_000),
    "max.in.flight.requests.per.connection": (1, 1_000_000),
    "max.partition.fetch.bytes": (1, 1_000_000_000),
    "max.poll.interval.ms": (1, 86_400_000),
    "socket.timeout.ms": (10, 300_000),
    "socket.connection.setup.timeout.ms": (1000, 2**31 - 1),
    "socket.send.buffer.bytes": (0, 100_000_000),
    "socket.receive.buffer.bytes": (0, 100_000_000),
    "transaction.timeout.ms": (1000, 2**31 - 1),
    "connections.max.idle.ms": (0, 2**31 - 1),
    "delivery.timeout.ms": (0, 2**31 - 1),
    "retries": (0, 2**31 - 1),
}
"""librdkafka's ranges; Java allows more at either end (0 or -1 for "none", larger for "no limit")."""

CHOICES = {
    "acks": frozenset({"all", "-1", "0", "1"}),
    "compression.type": frozenset({"none", "gzip", "snappy", "lz4", "zstd"}),
    "isolation.level": frozenset({"read_committed", "read_uncommitted"}),
}
"""The values allowed; librdkafka's own errors would name other properties than Java's."""
