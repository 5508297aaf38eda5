# SPDX-License-Identifier: Apache-2.0
"""The file of a dedicated MirrorMaker 2, and what follows from it for each pair of clusters. Pure.

Java: ``MirrorMakerConfig``, with the same precedence of properties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConfigError
from headrace.config.worker_config import CONFIG_PROVIDERS

CLUSTERS: Final = "clusters"
INTERNAL_REST: Final = "dedicated.mode.enable.internal.rest"
BOOTSTRAP: Final = "bootstrap.servers"
CONNECTORS: Final = ("MirrorSourceConnector", "MirrorHeartbeatConnector", "MirrorCheckpointConnector")
"""In the order in which a leader configures them."""
_PACKAGE: Final = "org.apache.kafka.connect.mirror"
_ENABLED: Final = "enabled"
_HEARTBEATS: Final = "emit.heartbeats.enabled"
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
_CLIENTS: Final = ("producer", "consumer", "admin")
_POLICY: Final = "replication.policy"
_OF_WORKERS: Final = ("offset.storage", "config.storage", "status.storage", *_CONVERTERS, "task", "worker", _POLICY)
"""The beginnings of names that count for all workers without a cluster's prefix."""


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


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a target cluster, by their aliases. Java: ``SourceAndTarget``."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


class MirrorConfig:
    """The properties of a file. In what is derived from them, references to config providers stay as they are."""

    def __init__(self, properties: Mapping[str, str], resolved: Mapping[str, str | None] | None = None) -> None:
        """Read clusters and flags, with the values of config providers if ``resolved`` has them.

        Raise ConfigError for a file without clusters, or with a pair that is enabled and has no such cluster.
        """
        self.properties: Final = dict(properties)
        self.resolved: Final = dict(properties if resolved is None else resolved)
        self.clusters: Final = tuple(dict.fromkeys(_listed(self.resolved.get(CLUSTERS) or "")))
        if not self.clusters:
            raise ConfigError(
                f"{CLUSTERS} is missing or empty: the aliases of the clusters, such as {CLUSTERS} = A, B", CLUSTERS
            )
        if len(self.clusters) == 1:
            raise ConfigError(f"{CLUSTERS} = {self.clusters[0]} is one cluster: at least two are needed", CLUSTERS)
        self._check_aliases()

    def all_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs that need a worker, in the order of ``clusters``.

        A pair that is not enabled has one too unless heartbeats are off: it writes those that the other direction
        copies.
        """
        return tuple(self._needed())

    def pairs(self, targets: Sequence[str] = ()) -> tuple[Pair, ...]:
        """Return the pairs whose target is one of these, all by default. Raise ConfigError if one cannot be mirrored.

        There has to be one at least, and each needs the brokers of both clusters.
        """
        for target in targets:
            self._check_cluster(target, "--clusters", target)
        found = tuple(pair for pair in self.all_pairs() if not targets or pair.target in targets)
        if not found:
            raise self._nothing_enabled(targets)
        for cluster in dict.fromkeys(alias for pair in found for alias in (pair.source, pair.target)):
            if not self._cluster(cluster).get(BOOTSTRAP, "").strip():
                name = f"{cluster}.{BOOTSTRAP}"
                raise ConfigError(f"{name} is missing or empty: the brokers of cluster {cluster} of {CLUSTERS}", name)
        return found

    @property
    def internal_rest(self) -> bool:
        """Return True if the workers of a pair, on several nodes, may send requests to each other (KIP-710)."""
        return self._flag(INTERNAL_REST, False)

    def worker_config(self, pair: Pair) -> dict[str, str]:
        """Return the properties of the pair's worker, which belongs to the target. Java: ``workerConfig``."""
        props = self._cluster(pair.target)
        props |= {name: text for name, text in self.properties.items() if name.startswith(_OF_WORKERS)}
        props |= self._below(CONFIG_PROVIDERS)
        return {
            "client.id": str(pair),
            "group.id": f"{pair.source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{pair.source}.internal",
            "status.storage.topic": f"mm2-status.{pair.source}.internal",
            "config.storage.topic": f"mm2-configs.{pair.source}.internal",
            **dict.fromkeys(_CONVERTERS, _BYTES),
            **props,
        }

    def connector_config(self, pair: Pair, connector: str) -> dict[str, str]:
        """Return the configuration of one of ``CONNECTORS``. Java: ``connectorBaseConfig``."""
        props = {name: text for name, text in self.properties.items() if name in CONNECTOR_NAMES}
        props |= self._below(CONFIG_PROVIDERS) | self._below(_POLICY)
        for side, cluster in (("source.", pair.source), ("target.", pair.target)):
            for name, text in self._cluster(cluster).items():
                props[f"{side}{name}" if name.startswith(_CLIENTS) else f"{side}cluster.{name}"] = text
        return {
            _ENABLED: "false",
            "name": connector,
            "connector.class": f"{_PACKAGE}.{connector}",
            "source.cluster.alias": pair.source,
            "target.cluster.alias": pair.target,
            **props,
            **self._stripped(f"{pair}."),
        }

    def _cluster(self, cluster: str) -> dict[str, str]:
        """Return what counts for the cluster: its own properties, then those without a prefix that clients have.

        What a client of one kind has of its own counts more than either.
        """
        props = self._stripped(f"{cluster}.")
        for given in (dict(props), self.properties):
            for name in CLIENT_NAMES & given.keys():
                for key in (*(f"{client}.{name}" for client in _CLIENTS), name):
                    props.setdefault(key, given[name])
        return props

    def _needed(self) -> Iterator[Pair]:
        beats = self._flag(_HEARTBEATS, True)
        for pair in (Pair(source, target) for source in self.clusters for target in self.clusters if source != target):
            enabled = self._flag(f"{pair}.{_ENABLED}", False)
            if self._flag(f"{pair}.{_HEARTBEATS}", beats) or enabled:
                yield pair

    def _nothing_enabled(self, targets: Sequence[str]) -> ConfigError:
        to = f" to {' or '.join(targets)} (--clusters)" if targets else ""
        target = targets[0] if targets else self.clusters[1]
        source = next(cluster for cluster in self.clusters if cluster != target)
        such = f"{source}->{target}.{_ENABLED} = true"
        return ConfigError(
            f"No pair of {CLUSTERS} = {', '.join(self.clusters)} is enabled{to}: set one, such as {such}"
        )

    def _flag(self, name: str, default: bool) -> bool:
        text = self.resolved.get(name)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise ConfigError.invalid(name, text, "true or false expected")
        return text.strip().lower() == "true"

    def _below(self, prefix: str) -> dict[str, str]:
        return {name: text for name, text in self.properties.items() if name.startswith(prefix)}

    def _stripped(self, prefix: str) -> dict[str, str]:
        found = {name.removeprefix(prefix): text for name, text in self._below(prefix).items()}
        return {name: text for name, text in found.items() if name}

    def _check_aliases(self) -> None:
        """Raise ConfigError for a pair that is to be enabled and has an alias that ``clusters`` lacks."""
        for name in self.properties:
            source, arrow, rest = name.partition("->")
            if arrow and rest.endswith(f".{_ENABLED}") and rest.count(".") == 1 and self._flag(name, False):
                self._check_cluster(source, name, self.properties[name])
                self._check_cluster(rest.removesuffix(f".{_ENABLED}"), name, self.properties[name])

    def _check_cluster(self, alias: str, name: str, text: str) -> None:
        if alias not in self.clusters:
            known = f"{CLUSTERS} = {', '.join(self.clusters)}"
            raise ConfigError.invalid(name, text, f"cluster {alias} is not in {known}")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
