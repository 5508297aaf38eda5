# SPDX-License-Identifier: Apache-2.0
"""A connector's committed offsets for operators to read and change, wherever the connector runs (KIP-875).

Java: ``Worker.connectorOffsets``, ``Worker.modifyConnectorOffsets``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.api.connector import Connector
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.sink import OffsetJobs
from headrace.config.worker_config import WorkerConfig
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorOffset, OffsetBounds, OffsetDifference, OffsetsChange, OffsetsChanged
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.offsets.offset_stores import OffsetStores
from headrace.worker.offsets.sink_offsets import SinkOffsets
from headrace.worker.offsets.source_offsets import SourceOffsets
from headrace.worker.runnable_configs import RunnableConfigs

_REFUSALS = (ConnectError, ValueError, TypeError, LookupError)
"""The errors with which a connector's code refuses offsets that it cannot work with."""


class Offsets(Protocol):
    """One connector's offsets. Every method blocks, but for ``normalize``."""

    def read(self) -> tuple[ConnectorOffset, ...]:
        """Return the committed offsets. Raise RetriableError if they cannot be read in time."""

    def bounds(self) -> OffsetBounds | None:
        """Return the bounds of what can be read, None if they are not known. Raise as ``read``."""

    def normalize(
        self, requested: Sequence[ConnectorOffset], known: Sequence[ConnectorOffset]
    ) -> tuple[ConnectorOffset, ...]:
        """Return the requested offsets in the form in which they are stored. Raise DataError for an invalid offset."""

    def call_alter_offsets(self, connector: Connector, wanted: Sequence[ConnectorOffset]) -> bool:
        """Call the connector's ``alter_offsets`` and return its result."""

    def alter_jobs(self, connector: Connector, wanted: Sequence[ConnectorOffset] | None) -> OffsetJobs | None:
        """Return the Spark jobs that the change requires, if any; ``wanted`` is None if all offsets are deleted."""

    def write(self, wanted: Sequence[ConnectorOffset]) -> None:
        """Commit the offsets; those that are None are deleted."""

    def reset(self, known: Sequence[ConnectorOffset]) -> None:
        """Delete all offsets."""


class ConnectorOffsets:
    """The reads and changes of any connector's offsets. Thread-safe.

    Every method blocks, for as long as the brokers and the connector's own code take.
    """

    def __init__(
        self,
        config: WorkerConfig,
        plugins: Plugins,
        configs: RunnableConfigs,
        stores: OffsetStores,
        run_job: Callable[[FrameJob], None],
    ) -> None:
        """Create it over the offset stores. ``run_job`` runs a job on Spark."""
        self._config = config
        self._plugins = plugins
        self._configs = configs
        self._stores = stores
        self._run_job = run_job

    def read(self, connector_config: Config) -> tuple[ConnectorOffset, ...]:
        """Return the committed offsets.

        Raise RetriableError if they cannot be read in time, ConfigError for an unknown class.
        """
        resolved = self._configs.resolve_connector(connector_config)
        with resolved.hidden_errors():
            return self._offsets_of(resolved.config).read()

    def bounds(self, connector_config: Config) -> OffsetBounds | None:
        """Return the bounds of what a sink can read, None for a source. Raise as ``read``."""
        resolved = self._configs.resolve_connector(connector_config)
        with resolved.hidden_errors():
            return self._offsets_of(resolved.config).bounds()

    def change(self, connector_config: Config, change: OffsetsChange) -> OffsetsChanged:
        """Change the offsets of a connector that no task works for, and return the differences.

        The connector's ``alter_offsets`` is called first, on an instance of its own. Idempotent: after an error it may
        be called again. Raise DataError for offsets that are invalid, or that the connector refuses; ActiveGroupError
        if a sink's group has members; RetriableError if the offsets topics cannot be written or read in time, or Spark
        cannot run jobs now.
        """
        resolved = self._configs.resolve_connector(connector_config)
        with resolved.hidden_errors():
            offsets = self._offsets_of(resolved.config)
            known = offsets.read()
            if change.offsets is None:
                wanted = tuple(ConnectorOffset(each.partition, None) for each in known)
            else:
                wanted = offsets.normalize(change.offsets, known)
            differences = _differences(known, wanted)
            if change.dry_run:
                return OffsetsChanged("Nothing was changed", differences)
            connector = self._plugins.connector(resolved.config.get("connector.class") or "")()
            complete = self._call_alter_offsets(resolved, offsets, connector, wanted)
            jobs = None if change.removal else offsets.alter_jobs(connector, None if change.offsets is None else wanted)
            if jobs is not None:
                complete = True
                self._run_job(jobs.before)
            if change.offsets is None:
                offsets.reset(known)
            else:
                offsets.write(wanted)
            if jobs is not None:
                self._run_job(jobs.after)
        return OffsetsChanged(_message("altered" if change.offsets is not None else "reset", complete), differences)

    def _offsets_of(self, config: Config) -> Offsets:
        kind = connector_type(self._plugins.connector(config.get("connector.class") or ""))
        if kind == "source":
            return SourceOffsets(config, self._stores)
        if kind == "sink":
            return SinkOffsets(config, self._config)
        raise ConfigError(
            f"Class {config.get('connector.class')} of connector {config['name']} is neither a source nor a sink",
            "connector.class",
        )

    def _call_alter_offsets(
        self, resolved: ResolvedConfig, offsets: Offsets, connector: Connector, wanted: Sequence[ConnectorOffset]
    ) -> bool:
        """Return true if the connector has dealt with offsets outside of Kafka, or has none."""
        name = resolved.config["name"]
        try:
            return offsets.call_alter_offsets(connector, wanted)
        except RetriableError:
            raise
        except NotImplementedError as error:
            raise DataError(f"Connector {name} does not support a change of its offsets") from error
        except _REFUSALS as error:
            raise DataError(resolved.hide(f"Connector {name} refuses the offsets: {error_text(error)}")) from error
        except BaseException as error:
            message = f"alter_offsets of connector {name} failed: {error_line(error)}"
            raise ConnectError(resolved.hide(message)) from error


def _differences(known: Sequence[ConnectorOffset], wanted: Sequence[ConnectorOffset]) -> tuple[OffsetDifference, ...]:
    """Return the changes; partitions of ``wanted`` are in the form of the ``known`` ones where there are such."""
    found = []
    for each in wanted:
        before = next((one.offset for one in known if one.partition == each.partition), None)
        if before != each.offset:
            found.append(OffsetDifference(each.partition, before, each.offset))
    return tuple(found)


def _message(done: str, complete: bool) -> str:
    """Return the answer in Kafka Connect's words, which clients know."""
    if complete:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        "uses."
    )
