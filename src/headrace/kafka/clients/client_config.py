# SPDX-License-Identifier: Apache-2.0
"""Translation of Java-style client properties to those of the two Kafka clients, with Java's defaults.

Above this package all properties are Java's. `producer_config`, `consumer_config` and `admin_config` make librdkafka's,
`kafka_python_config` makes kafka-python's. A property that neither knows is named once in a warning, with the nearest
known one, and left out. ConfigError for a value that cannot be right.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headrace.api.errors import ConfigError
from headrace.kafka.clients import client_properties as names
from headrace.kafka.clients.client_logs import LIBRDKAFKA_LOG, configure_kafka_python_loggers
from headrace.kafka.clients.kerberos import NEEDED
from headrace.kafka.clients.security_properties import GSSAPI, kafka_python_security, librdkafka_security, uses_sasl
from headrace.kafka.errors import kafka_error

log = logging.getLogger(__name__)
_warned: set[str] = set()

configure_kafka_python_loggers()

# Java's defaults, where librdkafka's differ.
_COMMON_DEFAULTS = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 1000, "socket.nagle.disable": True}
_PRODUCER_DEFAULTS = {
    "acks": "all",
    "linger.ms": 5,
    "max.in.flight.requests.per.connection": 5,
    "message.max.bytes": 1_048_576,
    # Java bounds its buffer by bytes alone; librdkafka's records have an overhead that its byte limit does not count.
    "queue.buffering.max.kbytes": 32_768,
    "queue.buffering.max.messages": 500_000,
}
_CONSUMER_DEFAULTS = {"auto.offset.reset": "latest", "check.crcs": True, "isolation.level": "read_uncommitted"}
_MAX_LINGER: Final = 30_000
_Client = TypeVar("_Client", Consumer, Producer, AdminClient)
_NAMES: Final = {Consumer: "consumer", Producer: "producer", AdminClient: "admin client"}
_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def producer_config(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's configuration of a producer; keys choose partitions as in Java (``murmur2_random``)."""
    result = {**_COMMON_DEFAULTS, **_PRODUCER_DEFAULTS, **_translate(props, names.SAME_NAME_PRODUCER)}
    if "buffer.memory" in props:
        result["queue.buffering.max.kbytes"] = max(1, _integer(props, "buffer.memory") // 1024)
    result.update(_compression_level(props))
    result["partitioner"] = _partitioner(props)
    if "enable.idempotence" not in props:
        result["enable.idempotence"] = _can_be_idempotent(result)
    if "transactional.id" in result:
        _fit_into_transaction_timeout(result)
        if "linger.ms" not in props:
            result["linger.ms"] = _transaction_linger(result)
    return result


def consumer_config(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's configuration of a consumer, with a ``group.id``: librdkafka requires one even if unused."""
    result = {**_COMMON_DEFAULTS, **_CONSUMER_DEFAULTS, **_translate(props, names.SAME_NAME_CONSUMER)}
    if result["auto.offset.reset"] == "none":
        result["auto.offset.reset"] = "error"
    if "partition.assignment.strategy" in props:
        # Java takes a list to migrate between assignors; librdkafka refuses a mixed one, so the first is used.
        first = props["partition.assignment.strategy"].partition(",")[0].strip()
        result["partition.assignment.strategy"] = _ASSIGNORS.get(first.rpartition(".")[2], first)
    result.setdefault("group.id", "headrace")
    return result


def admin_config(props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's configuration of an admin client; properties of the other clients are left out silently."""
    return {**_COMMON_DEFAULTS, **_translate(props, frozenset(), ignored=names.KNOWN)}


def kafka_python_config(props: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's connection settings; callers add those of sessions and groups."""
    result: dict[str, Any] = {
        "bootstrap_servers": [server.strip() for server in props.get("bootstrap.servers", "").split(",")],
        **kafka_python_security(props),
    }
    if "client.id" in props:
        result["client_id"] = props["client.id"]
    for name in ("request.timeout.ms", "metadata.max.age.ms", "reconnect.backoff.ms", "retry.backoff.ms"):
        if name in props:
            result[name.replace(".", "_")] = _integer(props, name)
    result["reconnect_backoff_max_ms"] = _integer(props, "reconnect.backoff.max.ms", 1000)
    return result


def producer(props: Mapping[str, str]) -> Producer:
    """Make a producer, in the process that uses it: librdkafka's threads do not survive a fork."""
    return _create_client(Producer, props, _checked(props, producer_config(props), "a producer"))


def consumer(props: Mapping[str, str]) -> Consumer:
    """Make a consumer, in the process that uses it."""
    return _create_client(Consumer, props, _checked(props, consumer_config(props), "a consumer"))


def admin_client(props: Mapping[str, str]) -> AdminClient:
    """Make an admin client, in the process that uses it."""
    return _create_client(AdminClient, props, _checked(props, admin_config(props), "an admin client"))


def unusable_properties_error(error: Exception, props: Mapping[str, str], what: str) -> ConfigError:
    """Return the error for properties of ``what``, such as "producer", that librdkafka refuses to make one of."""
    if uses_sasl(props, GSSAPI) and "SASL mechanism" in str(error):
        return ConfigError.invalid("sasl.mechanism", props.get("sasl.mechanism", GSSAPI), NEEDED)
    found = kafka_error(error)
    return ConfigError(f"The {what}'s properties cannot be used: {found.str() if found is not None else error}")


def _create_client(kind: type[_Client], props: Mapping[str, str], config: dict[str, Any]) -> _Client:
    try:
        return kind(config)
    except (KafkaException, ValueError) as error:
        raise unusable_properties_error(error, props, _NAMES[kind]) from error


def _checked(props: Mapping[str, str], config: dict[str, Any], what: str) -> dict[str, Any]:
    if not props.get("bootstrap.servers", "").strip():
        raise ConfigError.invalid("bootstrap.servers", props.get("bootstrap.servers"), f"{what} needs it")
    return {**config, "logger": LIBRDKAFKA_LOG}


def _translate(
    props: Mapping[str, str], own_names: frozenset[str], ignored: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the properties whose names or values librdkafka shares with Java, within librdkafka's ranges."""
    result: dict[str, Any] = {}
    for name, value in props.items():
        if name in own_names or name in names.SAME_NAME_COMMON:
            target = name
        elif name in names.LIBRDKAFKA_ONLY:
            result[name] = value
            continue
        elif name in names.JAVA_TO_LIBRDKAFKA:
            target = names.JAVA_TO_LIBRDKAFKA[name]
        else:
            if name not in names.COMMON and name not in ignored:
                _warn_unknown(name, own_names | names.COMMON)
            continue
        result[target] = _within_limits(target, _integer(props, name)) if name in names.INTEGERS else value
        _check_choice(name, value)
    return {**result, **librdkafka_security(props)}


def _check_choice(name: str, value: str) -> None:
    choices = names.CHOICES.get(name)
    if choices is not None and value.strip() not in choices:
        raise ConfigError.invalid(name, value, f"must be one of {', '.join(sorted(choices))}")


def _integer(props: Mapping[str, str], name: str, default: int | None = None) -> int:
    value = props.get(name)
    if value is None and default is not None:
        return default
    try:
        return int(str(value).strip())
    except ValueError:
        raise ConfigError.invalid(name, value, "must be a whole number") from None


def _within_limits(target: str, value: int) -> int:
    low, high = names.LIMITS.get(target, (value, value))
    return min(max(value, low), high)


def _warn_unknown(name: str, known: frozenset[str]) -> None:
    if name in _warned:
        return
    _warned.add(name)
    near = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    log.warning("The Kafka client property '%s' is not known and has no effect%s", name, hint)


def _compression_level(props: Mapping[str, str]) -> dict[str, int]:
    name = f"compression.{props.get('compression.type', 'none')}.level"
    return {"compression.level": _integer(props, name)} if name in props else {}


def _partitioner(props: Mapping[str, str]) -> str:
    """Return the partitioner that hashes as Java's: with librdkafka's default, keys would change their partitions."""
    if props.get("partitioner.ignore.keys", "false").strip().lower() == "true":
        return "random"
    given = props.get("partitioner.class", "").rpartition(".")[2]
    if given not in ("", "DefaultPartitioner", "UniformStickyPartitioner", "BuiltInPartitioner"):
        _warn_unknown(f"partitioner.class={given}", frozenset())
    return "murmur2_random"


def _can_be_idempotent(config: Mapping[str, Any]) -> bool:
    """Apply Java's rule: idempotence is on unless another property contradicts it."""
    return (
        str(config["acks"]) in ("all", "-1")
        and int(config["max.in.flight.requests.per.connection"]) <= 5
        and config.get("retries", 1) != 0
    )


def _transaction_linger(config: Mapping[str, Any]) -> int:
    """Return how long records wait for a full batch, in ms: half of the time that they have.

    A transaction ends with a flush, and nothing is visible before. librdkafka's thread for a broker does not pause
    while records are due and five of their partition are under way: it takes a core while a broker does not answer.
    """
    timeouts = [config.get(name) for name in ("transaction.timeout.ms", "delivery.timeout.ms", "message.timeout.ms")]
    return min(*(int(timeout) // 2 for timeout in timeouts if timeout is not None), _MAX_LINGER)


def _fit_into_transaction_timeout(config: dict[str, Any]) -> None:
    """Lower timeouts to the transaction's: librdkafka refuses deliveries or requests that could outlast it."""
    timeout = config.setdefault("transaction.timeout.ms", 60_000)
    for name in ("delivery.timeout.ms", "message.timeout.ms"):
        if name in config:
            given = int(config[name])
            config[name] = timeout if given == 0 else min(given, timeout)
    if "socket.timeout.ms" in config:
        config["socket.timeout.ms"] = min(int(config["socket.timeout.ms"]), timeout)
