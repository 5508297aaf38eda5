# SPDX-License-Identifier: Apache-2.0
"""Checks of the worker's properties: mistakes, exactly-once, plugins and config providers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.config.distributed_config import SUPPORT, DistributedConfig
from headrace.config.worker_config import CONFIG_PROVIDERS, PLUGIN_PATH, WorkerConfig
from headrace.doctor.findings import Finding, ok, problem, warning
from headrace.doctor.subject import Subject
from headrace.model.info import PluginInfo


def check_properties(subject: Subject) -> Iterator[Finding]:
    """Report mistakes in the worker's properties."""
    if subject.file is None:
        return
    if subject.mistake is not None:
        yield problem(f"{subject.file}: {subject.mistake}", "correct the file: a worker does not start with it")
    else:
        kind = "distributed" if subject.distributed is not None else "standalone"
        yield ok(f"{subject.file}: {len(subject.raw)} properties of a {kind} worker, without mistakes")


def check_exactly_once(subject: Subject) -> Iterator[Finding]:
    """Report whether sources are exactly-once."""
    if subject.config is not None:
        yield exactly_once_finding(subject.config)


def exactly_once_finding(config: WorkerConfig) -> Finding:
    """Return the finding about a worker's configuration."""
    if not isinstance(config, DistributedConfig):
        return warning(
            "sources of a standalone worker are at-least-once", "use headrace distributed if they must be exactly-once"
        )
    support = config.exactly_once_source_support
    if support == "enabled":
        return ok(f"{SUPPORT}=enabled")
    return warning(f"{SUPPORT}={support}: sources are at-least-once", f"set {SUPPORT}=enabled on all workers")


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """The plugins that could be loaded and those that could not, and directories that cannot be read."""

    plugins: Sequence[PluginInfo]
    unreadable: Sequence[str] = ()


def check_plugins(subject: Subject) -> Iterator[Finding]:
    """Load all plugins, as ``GET /connector-plugins`` does."""
    from headrace.plugins.discovery import plugins_of

    path = subject.config.plugin_path if subject.config is not None else ()
    unreadable = [each for each in path if not os.access(each, os.R_OK | (os.X_OK if Path(each).is_dir() else 0))]
    yield from plugin_findings(PluginFacts(plugins_of(subject.raw).describe(), unreadable))


def plugin_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Return the findings: one for each directory and plugin that cannot be used, or one for all."""
    for directory in facts.unreadable:
        yield problem(
            f"{PLUGIN_PATH}: {directory} is no directory or archive that can be read", f"correct {PLUGIN_PATH}"
        )
    broken = [plugin for plugin in facts.plugins if plugin.error is not None]
    for plugin in broken:
        yield problem(f"{plugin.class_name} cannot be loaded: {plugin.error}", "repair or uninstall it")
    if not facts.unreadable and not broken:
        yield ok(f"{len(facts.plugins)} plugins can be loaded")


def check_config_providers(subject: Subject) -> Iterator[Finding]:
    """Check that files and directories in references to config providers, and in their parameters, can be read."""
    if CONFIG_PROVIDERS not in subject.raw:
        return
    from headrace.plugins.config_transformer import referenced_paths

    prefix, limits = f"{CONFIG_PROVIDERS}.", ".param.allowed.paths"
    allowed = [text for name, text in subject.raw.items() if name.startswith(prefix) and name.endswith(limits)]
    paths = {*referenced_paths(subject.raw), *(part.strip() for text in allowed for part in text.split(","))}
    yield from readable_findings({path: os.access(path, os.R_OK) for path in sorted(paths) if path.startswith("/")})


def readable_findings(readable: dict[str, bool]) -> Iterator[Finding]:
    """Return a finding for each path that cannot be read, or one for all."""
    for path, can_be_read in readable.items():
        if not can_be_read:
            yield problem(f"{path} cannot be read", "create it, or let the worker's user read it")
    if all(readable.values()):
        yield ok(f"{len(readable)} files and directories of config providers can be read")
