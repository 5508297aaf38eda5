# SPDX-License-Identifier: Apache-2.0
"""A connector's committed offsets as operators see and change them, wherever the connector runs (KIP-875).

Java: ``Worker.connectorOffsets``, ``Worker.modifyConnectorOffsets``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.api.connector import Connector
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.sink import OffsetJobs
from headrace.config.worker_config import WorkerConfig
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorOffset
from headrace.model.offsets import OffsetDifference, OffsetsChange, OffsetsChanged
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.offset_stores import OffsetStores
from headrace.worker.runnable_configs import RunnableConfigs
from headrace.worker.sink_offsets import SinkOffsets
from headrace.worker.source_offsets import SourceOffsets

log = logging.getLogger(__name__)

_REFUSALS = (ConnectError, ValueError, TypeError, LookupError)
"""What a connector's code raises over offsets that it cannot work with."""


class Offsets(Protocol):
    """One connector's offsets. Every method blocks, but for ``wanted``."""

    def read(self) -> tuple[ConnectorOffset, ...]:
        """Those that are committed. RetriableError if they cannot be read in time."""

    def wanted(self, asked: Sequence[ConnectorOffset], known: Sequence[ConnectorOffset]) -> tuple[ConnectorOffset, ...]:
        """What was asked for in the form in which it is stored. DataError for what cannot be an offset."""

    def ask(self, connector: Connector, wanted: Sequence[ConnectorOffset]) -> bool:
        """Calls the connector's ``alter_offsets``."""

    def jobs(self, connector: Connector, wanted: Sequence[ConnectorOffset] | None) -> OffsetJobs | None:
        """What Spark has to do about it besides; None for ``wanted`` are all offsets, which are deleted."""

    def write(self, wanted: Sequence[ConnectorOffset]) -> None:
        """Commits them; those that are None are deleted."""

    def reset(self, known: Sequence[ConnectorOffset]) -> None:
        """Deletes all of them."""


class ConnectorOffsets:
    """Thread-safe. Every method blocks, for as long as the brokers and the connector's own code take."""

    def __init__(
        self,
        config: WorkerConfig,
        plugins: Plugins,
        configs: RunnableConfigs,
        stores: OffsetStores,
        run: Callable[[FrameJob], None],
    ) -> None:
        """``run`` has Spark run a job."""
        self._config = config
        self._plugins = plugins
        self._configs = configs
        self._stores = stores
        self._run = run

    def read(self, connector_config: Config) -> tuple[ConnectorOffset, ...]:
        """The committed offsets. RetriableError if they cannot be read in time, ConfigError for an unknown class."""
        resolved = self._configs.of_connector(connector_config)
        with resolved.hidden_errors():
            return self._of(resolved.config).read()

    def change(self, connector_config: Config, change: OffsetsChange) -> OffsetsChanged:
        """Changes the offsets of a connector that no task works for, and tells what is different then.

        The connector is asked first, on an instance of its own. Idempotent: after an error it may be called again.
        DataError for offsets that make no sense, or none to the connector; ActiveGroupError if a sink's group has
        members; RetriableError if the offsets topics cannot be written or read in time, or Spark cannot be asked.
        """
        resolved = self._configs.of_connector(connector_config)
        with resolved.hidden_errors():
            offsets = self._of(resolved.config)
            known = offsets.read()
            if change.offsets is None:
                wanted = tuple(ConnectorOffset(each.partition, None) for each in known)
            else:
                wanted = offsets.wanted(change.offsets, known)
            differences = _differences(known, wanted)
            if change.dry_run:
                return OffsetsChanged("Nothing was changed", differences)
            connector = self._plugins.connector(resolved.config.get("connector.class") or "")()
            complete = self._ask(resolved, offsets, connector, wanted)
            jobs = None if change.removal else offsets.jobs(connector, None if change.offsets is None else wanted)
            if jobs is not None:
                complete = True
                self._run(jobs.before)
            if change.offsets is None:
                offsets.reset(known)
            else:
                offsets.write(wanted)
            if jobs is not None:
                self._run(jobs.after)
        return OffsetsChanged(_message("altered" if change.offsets is not None else "reset", complete), differences)

    def _of(self, config: Config) -> Offsets:
        kind = connector_type(self._plugins.connector(config.get("connector.class") or ""))
        if kind == "source":
            return SourceOffsets(config, self._stores)
        if kind == "sink":
            return SinkOffsets(config, self._config)
        raise ConfigError(
            f"Class {config.get('connector.class')} of connector {config['name']} is neither a source nor a sink",
            "connector.class",
        )

    def _ask(
        self, resolved: ResolvedConfig, offsets: Offsets, connector: Connector, wanted: Sequence[ConnectorOffset]
    ) -> bool:
        """Whether the connector has dealt with offsets outside of Kafka, or has none."""
        name = resolved.config["name"]
        try:
            return offsets.ask(connector, wanted)
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
    """Partitions of ``wanted`` are in the form of the ``known`` ones where there are such."""
    found = []
    for each in wanted:
        before = next((one.offset for one in known if one.partition == each.partition), None)
        if before != each.offset:
            found.append(OffsetDifference(each.partition, before, each.offset))
    return tuple(found)


def _message(done: str, complete: bool) -> str:
    """Kafka Connect's words, which clients know."""
    if complete:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector "
        "uses."
    )
