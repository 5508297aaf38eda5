# SPDX-License-Identifier: Apache-2.0
"""Plugins of Maven repositories: their jars without those that Kafka Connect has itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from headrace.jvm.ivy import resolve_jars

_COORDINATE: Final = re.compile(r"[\w.-]+:[\w.-]+:[\w.+-]+")
_OF_KAFKA: Final = re.compile(
    r"(connect-(?:api|json|runtime|transforms)|kafka-clients|slf4j-(?:api|simple|reload4j|log4j12)"
    r"|jackson-(?:annotations|core|databind|datatype-jdk8|module-blackbird)|lz4-java|snappy-java|zstd-jni|(?:jakarta|javax)\.ws\.rs-api)-\d"
)
"""The jars that a plugin gets from Kafka Connect.

With its own it would not know the worker's records; Jackson looks modules up by `ServiceLoader`, which finds Kafka
Connect's also for a plugin with a Jackson of its own, and they do not fit. Vendors' archives lack all of these, too.
"""


def is_coordinate(source: str) -> bool:
    """Return True for a text of the form group:name:version."""
    return _COORDINATE.fullmatch(source) is not None


def plugin_jars(coordinates: Sequence[str], progress: Callable[[str], None]) -> tuple[Path, ...]:
    """Return the jars of a plugin and of what it needs, downloaded if need be; see ``resolve_jars`` for errors.

    What several coordinates need in several versions is there once, in the newest.
    """
    wanted = {coordinate.split(":")[1] for coordinate in coordinates}
    return tuple(jar for jar in resolve_jars(coordinates, progress=progress) if not _is_of_kafka(jar.name, wanted))


def _is_of_kafka(jar: str, wanted: Collection[str]) -> bool:
    matched = _OF_KAFKA.match(jar)
    return matched is not None and matched[1] not in wanted
