# SPDX-License-Identifier: Apache-2.0
"""The check of the group's connectors: secrets in their configurations, and those that production should not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config.secret_properties import is_reference, is_secret_name
from headrace.doctor.findings import Finding, counted, ok, warning
from headrace.doctor.kafka_view import Connector
from headrace.doctor.subject import Subject

_FILE_STREAM: Final = "FileStream"


def check_connectors(subject: Subject) -> Iterator[Finding]:
    """Check the connectors of the config topic."""
    if subject.distributed is None:
        return
    try:
        connectors = subject.kafka.connectors(subject.distributed)
    except ConnectError:  # the check of permissions reports it
        return
    yield from connector_findings(connectors)


def connector_findings(connectors: Sequence[Connector]) -> Iterator[Finding]:
    """Return the findings of docs/security.md's checklist that are about connectors, or one for all."""
    found = [*_secret_findings(connectors), *_file_stream_findings(connectors)]
    tasks = counted(sum(each.tasks for each in connectors), "task")
    good = f"{counted(len(connectors), 'connector')} with {tasks}, without secrets in their configurations"
    yield from found or [ok(good if connectors else "no connector yet")]


def _secret_findings(connectors: Sequence[Connector]) -> Iterator[Finding]:
    for each in connectors:
        names = [name for name, text in each.stored.items() if text and is_secret_name(name) and not is_reference(text)]
        if names:
            found = f"connector {each.name} has secrets in its configuration, which is in the config topic: "
            remedy = "replace them by references to a config provider (docs/guide/config-providers.md), and change them"
            yield warning(f"{found}{', '.join(names)}", remedy)


def _file_stream_findings(connectors: Sequence[Connector]) -> Iterator[Finding]:
    names = [each.name for each in connectors if _FILE_STREAM in (each.stored.get("connector.class") or "")]
    if names:
        found = f"FileStream connectors read and write any file that a worker's user can: {', '.join(names)}"
        yield warning(found, "replace them, then set connectors.denylist=FileStream* on all workers")
