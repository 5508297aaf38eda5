# SPDX-License-Identifier: Apache-2.0
"""The remedy for errors whose cause is known, by their text. Pure.

Drivers, file systems and Kafka's clients have no common types of errors; their texts are stable and name the cause.
"""

from __future__ import annotations

import re
from typing import Final

_HINTS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), hint)
    for pattern, hint in (
        (
            r"permission denied for \w+ |insufficient privilege",
            "give the database's user the permission on that table",
        ),
        # Disks and files.
        (r"No space left on device|Disk quota exceeded", "free space on that disk, or make it larger"),
        (r"Read-only file system", "mount that file system for writing"),
        (r"Too many open files", "raise the limit of open files (ulimit -n) of the worker"),
        (
            r"Permission denied|AccessControlException|AccessDenied",
            "give the user that the worker runs as the permission to read or write there",
        ),
        # Kafka: names of its error codes, as its clients add them.
        (
            r"TOPIC_AUTHORIZATION_FAILED",
            "give the connector's principal the permission (ACL): Read on a sink's topics, Write on a source's",
        ),
        (r"GROUP_AUTHORIZATION_FAILED", "give the connector's principal Read on the consumer group connect-<name>"),
        (
            r"TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
            "give the connector's principal Write and Describe on its transactional ids",
        ),
        (r"CLUSTER_AUTHORIZATION_FAILED", "give the connector's principal IdempotentWrite or Create on the cluster"),
        (
            r"MSG_SIZE_TOO_LARGE|RECORD_LIST_TOO_LARGE|RecordTooLarge|record.{0,40}too large",
            "raise producer.override.max.request.size and the topic's max.message.bytes, or make records smaller",
        ),
        (
            r"UNKNOWN_TOPIC|Unknown topic|no such topic",
            "create the topic, or correct its name; topic.creation.default.* has a source create its topics",
        ),
        (
            r"_FENCED|INVALID_PRODUCER_EPOCH",
            "if this continues, another task has the transactional id <group.id>-<connector>-<task> too: "
            "give its group another group.id",
        ),
        (r"NOT_ENOUGH_REPLICAS", "too few brokers are in sync for the topic's min.insync.replicas: start the others"),
        (
            r"_AUTHENTICATION|SASL_AUTHENTICATION_FAILED|SaslAuthentication",
            "are sasl.mechanism and sasl.jaas.config those that the brokers expect?",
        ),
        (r"_SSL\b|SSL handshake|CERTIFICATE_VERIFY_FAILED|PKIX path", "is the other side's certificate trusted here?"),
        (
            r"brokers? (is|are) down|_ALL_BROKERS_DOWN|_TRANSPORT\b|_TIMED_OUT|no broker",
            "are Kafka's brokers up, and reachable from the executors at bootstrap.servers and advertised.listeners?",
        ),
        # Schema Registry, of converters that use one.
        (
            r"schema.?registry",
            "is the Schema Registry up, is schema.registry.url its address, and does it have the subject?",
        ),
        # Databases.
        (
            r"password authentication failed|no password was provided|Access denied for user|no pg_hba\.conf entry"
            r"|invalid username/password|Login failed for user|role \".*\" does not exist",
            "are spark.option.user and spark.option.password right, and may that user connect from this machine?",
        ),
        (r"database \".*\" does not exist|Unknown database", "does spark.option.url have the database's name?"),
        (r"relation \".*\" does not exist|TABLE_OR_VIEW_NOT_FOUND", "does the table exist, and is its name right?"),
        (r"too many (clients|connections)|remaining connection slots", "raise the database's limit of connections"),
        (
            r"database system is (starting up|shutting down|in recovery)|terminating connection",
            "the database restarts: if that takes long, its own log has the reason",
        ),
        (r"No suitable driver", "add the database's JDBC driver to the worker's spark.jars.packages"),
        # Networks.
        (
            r"Connection to (?P<address>\S+?:\d+) refused",
            "is the database up, and reachable at {address} from the workers and executors?",
        ),
        (
            r"(to host|connect to|at) '?(?P<address>[\w.\-]+:\d+).{0,60}Connection refused",
            "is the service up, and reachable at {address}?",
        ),
        (
            r"Connection refused|connection attempt failed",
            "is the service up, and its address right?",
        ),
        (
            r"UnknownHost|Name or service not known|name resolution|Failed to resolve|_RESOLVE|nodename nor servname",
            "is the host's name right, and can this machine resolve it?",
        ),
        (r"Connection (reset|timed out)|ConnectException|timed? ?out|No route to host", "is the network slow or cut?"),
        # Spark.
        (r"no core was free", "give Spark more cores, or run fewer tasks (tasks.max)"),
        (
            r"MemoryError|Cannot allocate memory|OutOfMemory|heap space",
            "give it more memory, or smaller batches",
        ),
    )
)
_JSON_ENVELOPE: Final = re.compile(r'requires "schema" and "payload"')


def hint_for(message: str, converter: str | None = None) -> str | None:
    """Return the remedy for an error with this text; None if none is known.

    ``converter`` is the property of the converter that failed, as ``value.converter``, if one did.
    """
    for pattern, hint in _HINTS:
        if (found := pattern.search(message)) is not None:
            return hint.format(**found.groupdict())
    if converter is None:
        return None
    if _JSON_ENVELOPE.search(message):
        return f"set {converter}.schemas.enable=false if the records are plain JSON"
    return f"is {converter} the converter that fits these records?"
