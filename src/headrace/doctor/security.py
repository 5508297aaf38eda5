# SPDX-License-Identifier: Apache-2.0
"""The checklist of docs/security.md, for a worker in production, and for its group's connectors."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.config.access_config import AUDIT_FILE, AUTHENTICATION
from headrace.config.rest_config import ALLOWED_HOSTS, REST_EXTENSIONS
from headrace.config.secret_properties import is_reference, is_secret_name
from headrace.config.worker_config import PLUGIN_MODULE_PREFIXES, SINGER_COMMANDS, WorkerConfig
from headrace.doctor.findings import Finding, counted, ok, warning
from headrace.doctor.subject import Connector, Subject
from headrace.rest.server.listeners import Listener

_LOOPBACK: Final = ("localhost", "127.", "::1")
_FILE_STREAM: Final = "FileStream"


def check_security(subject: Subject) -> Iterator[Finding]:
    """Report what should not be so in production."""
    if subject.config is None:
        return
    found = [*security_findings(subject.config)]
    if subject.file is not None and _others_can_read(Path(subject.file)) and _has_secret(subject):
        found.append(warning(f"{subject.file} has secrets, and all users can read it", f"chmod 600 {subject.file}"))
    yield from found or [ok("nothing of docs/security.md's checklist stands out")]


def security_findings(config: WorkerConfig) -> Iterator[Finding]:
    """Return the findings that follow from the configuration."""
    if _file_stream_allowed(config):
        yield warning(
            "FileStreamSource and FileStreamSink may run: they read and write any file that the worker's user can",
            "set connectors.denylist=FileStream*,Mock*,OrdersSource,SchemaSource,Verifiable* in production",
        )
    yield from _rest_findings(config)
    if "*" in config.get(PLUGIN_MODULE_PREFIXES):
        found = f"{PLUGIN_MODULE_PREFIXES}=* lets connectors name any Python class"
        yield warning(found, f"list the packages of plugins in {PLUGIN_MODULE_PREFIXES}, or remove it")
    if "*" in config.get(SINGER_COMMANDS):
        found = f"{SINGER_COMMANDS}=* lets connectors start any program"
        yield warning(found, f"list programs in {SINGER_COMMANDS}, or remove it: headrace singer install needs none")


def _rest_findings(config: WorkerConfig) -> Iterator[Finding]:
    open_to_all = [text for text in (*config.listeners, *(config.admin_listeners or ())) if not _is_loopback(text)]
    guarded = bool(config.get(AUTHENTICATION) or config.get(REST_EXTENSIONS))
    if open_to_all and not guarded:
        yield warning(
            f"the REST API listens at {', '.join(open_to_all)} without authentication: all who reach it can run code",
            f"set {AUTHENTICATION}, or listen at http://127.0.0.1 only",
        )
    if any(text.strip().lower().startswith("http:") for text in open_to_all):
        yield warning("the REST API is open to the network without TLS", "use https in listeners")
    if guarded and not config.get(AUDIT_FILE):
        yield warning("decisions about requests are not recorded", f"set {AUDIT_FILE}")
    if "*" in str(config.raw.get(ALLOWED_HOSTS, "")).split(","):
        yield warning(
            f"{ALLOWED_HOSTS}=* lets pages of other sites reach the REST API", f"list hosts in {ALLOWED_HOSTS}"
        )


def _is_loopback(text: str) -> bool:
    try:
        return Listener.parse(text).host.startswith(_LOOPBACK)
    except ConfigError:
        return False


def _file_stream_allowed(config: WorkerConfig) -> bool:
    from headrace.plugins.discovery import plugins_of

    try:
        plugins_of(config.raw).connector("FileStreamSource")
    except ConfigError:
        return False
    return True


def _has_secret(subject: Subject) -> bool:
    return any(is_secret_name(name) and not is_reference(text) for name, text in subject.raw.items())


def _others_can_read(file: Path) -> bool:
    try:
        return bool(os.stat(file).st_mode & stat.S_IROTH)
    except OSError:
        return False


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
