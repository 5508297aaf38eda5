# SPDX-License-Identifier: Apache-2.0
"""Names of properties that MirrorMaker 2 treats alike, as in its ConfigDefs; a test compares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final


def _below(prefix: str, names: str) -> Iterator[str]:
    return (prefix + name for name in names.split())


_LOGINS: Final = frozenset((
    "security.protocol",
    *_below("sasl.", "client.callback.handler.class jaas.config login.callback.handler.class login.class mechanism"),
    *_below("sasl.kerberos.", "kinit.cmd min.time.before.relogin service.name ticket.renew.jitter "
                              "ticket.renew.window.factor"),
    *_below("sasl.login.", "connect.timeout.ms read.timeout.ms refresh.buffer.seconds refresh.min.period.seconds "
                           "refresh.window.factor refresh.window.jitter retry.backoff.max.ms retry.backoff.ms"),
    *_below("sasl.oauthbearer.", "client.credentials.client.id client.credentials.client.secret clock.skew.seconds "
                                 "expected.audience expected.issuer header.urlencode jwt.retriever.class "
                                 "jwt.validator.class scope scope.claim.name sub.claim.name token.endpoint.url"),
    *_below("sasl.oauthbearer.assertion.", "algorithm claim.aud claim.exp.seconds claim.iss claim.jti.include "
                                           "claim.nbf.seconds claim.sub file private.key.file "
                                           "private.key.passphrase template.file"),
    *_below("sasl.oauthbearer.jwks.endpoint.", "refresh.ms retry.backoff.max.ms retry.backoff.ms url"),
    *_below("ssl.", "cipher.suites enabled.protocols endpoint.identification.algorithm engine.factory.class "
                    "key.password keymanager.algorithm protocol provider secure.random.implementation "
                    "trustmanager.algorithm"),
    *_below("ssl.keystore.", "certificate.chain key location password type"),
    *_below("ssl.truststore.", "certificates location password type"),
))  # fmt: skip

CLIENT_NAMES: Final = _LOGINS | {"bootstrap.servers"}
"""The properties that each of a cluster's clients gets, also as ``producer.``, ``consumer.`` and ``admin.``.

Java: ``MirrorClientConfig.CLIENT_CONFIG_DEF``."""

CONNECTOR_NAMES: Final = _LOGINS | frozenset((
    "name", "enabled", "predicates", "transforms", "metric.reporters", "metric.names.formats", "config.action.reload",
    "config.providers", "admin.timeout.ms", "consumer.poll.timeout.ms", "forwarding.admin.class", "replication.factor",
    "source.cluster.alias", "target.cluster.alias", "topics", "topics.exclude", "topic.filter.class", "groups",
    "groups.exclude", "group.filter.class", "config.properties.exclude", "config.property.filter.class", "tasks.max",
    "tasks.max.enforce", "offset.lag.max",
    *_below("connector.", "class plugin.version"),
    *(f"{kind}.converter{end}" for kind in ("key", "value", "header") for end in ("", ".plugin.version")),
    *_below("checkpoints.topic.", "replication.factor"),
    *_below("emit.", "checkpoints.enabled checkpoints.interval.seconds heartbeats.enabled "
                     "heartbeats.interval.seconds offset-syncs.enabled"),
    *_below("errors.", "log.enable log.include.messages retry.delay.max.ms retry.timeout tolerance"),
    *_below("heartbeats.", "replication.enabled topic.replication.factor"),
    *_below("offset-syncs.topic.", "location replication.factor"),
    *_below("refresh.", "groups.enabled groups.interval.seconds topics.enabled topics.interval.seconds"),
    *_below("replication.policy.", "class internal.topic.separator.enabled separator"),
    *_below("sync.", "group.offsets.enabled group.offsets.interval.seconds topic.acls.enabled "
                     "topic.acls.interval.seconds topic.configs.enabled topic.configs.interval.seconds"),
))  # fmt: skip
"""The properties without a prefix that connectors get. Java: ``MirrorMakerConfig.allConfigNames``."""
