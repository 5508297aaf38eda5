# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.task.errors.error_hints import hint_for


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (
            "RetriableError: The database says: Connection to 127.0.0.1:5432 refused. Check that the hostname and port "
            "are correct and that the postmaster is accepting TCP/IP connections.",
            "is the database up, and reachable at 127.0.0.1:5432 ",
        ),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "is the service up"),
        ("The database says: FATAL: the database system is starting up", "restarts"),
        ("FATAL: terminating connection due to administrator command", "restarts"),
        ('FATAL: password authentication failed for user "u"', "spark.option.password"),
        ('FATAL: database "x" does not exist', "spark.option.url"),
        ("ERROR: permission denied for table orders", "database's user"),
        ("The connection attempt failed.", "is the service up"),
        ("java.net.UnknownHostException: db", "host's name"),
        ("[Errno -2] Name or service not known", "host's name"),
        ("/out/x cannot be made: No space left on device", "free space"),
        ("OSError: [Errno 122] Disk quota exceeded", "free space"),
        ("PermissionError: [Errno 13] Permission denied: '/out'", "permission to read or write"),
        ("Broker: Unknown topic or partition (UNKNOWN_TOPIC_OR_PART)", "create the topic"),
        ("writing to topic t failed: Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED)", "ACL"),
        ("Broker: Message size too large (MSG_SIZE_TOO_LARGE)", "max.request.size"),
        ("RecordTooLargeError: writing to topic t is not possible: the record has 9 bytes", "max.request.size"),
        ("Local: This instance has been fenced by a newer instance (_FENCED)", "another group.id"),
        ("consuming: 1/1 brokers are down (_ALL_BROKERS_DOWN)", "bootstrap.servers"),
        ("Local: Authentication failure (_AUTHENTICATION)", "sasl.jaas.config"),
        ("Schema Registry answered 404: Subject 't-value' not found", "schema.registry.url"),
        ("transforms.q could not be run: no core was free for 15 s", "tasks.max"),
    ],
)
def test_known_causes(message: str, part: str) -> None:
    hint = hint_for(message)
    assert hint is not None and part in hint, hint


def test_a_converter_that_fails_is_named() -> None:
    envelope = 'JsonConverter with schemas.enable requires "schema" and "payload" fields'
    assert hint_for(envelope, "value.converter") == (
        "set value.converter.schemas.enable=false if the records are plain JSON"
    )
    assert hint_for("no JSON", "key.converter") == "is key.converter the converter that fits these records?"


@pytest.mark.parametrize("message", ["", "ValueError: no number", "KeyError: 'id'", "column {0} of {name} is missing"])
def test_unknown_ones_have_no_hint(message: str) -> None:
    assert hint_for(message) is None
