# SPDX-License-Identifier: Apache-2.0
"""Connectors: they run in the worker, decide their tasks' configurations and touch no data.

The runtime makes one instance per connector, with a constructor without arguments, and calls it from one thread at a
time: `initialize`, `start`, `task_configs` (again after each `request_task_reconfiguration`), `stop`. `validate` and
`config` are called on separate instances that are never started, possibly at the same time. No method may block for
long: a call that does not return delays only this connector, but REST requests that wait for it answer with an error
that names the method. An error raised by any of them makes the connector FAILED; the user reads the error's text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.datasets import Dataset
from headrace.api.frames import FrameJob
from headrace.api.plugin_metrics import PluginMetrics

UNDEFINED_VERSION = "undefined"


class ConnectorContext(ABC):
    """The runtime as a connector sees it. Any thread may call it, from `start` until `stop`."""

    @abstractmethod
    def request_task_reconfiguration(self) -> None:
        """Request a new call of `task_configs`. Returns at once; the call follows soon, on the runtime's thread."""

    @abstractmethod
    def raise_error(self, error: BaseException) -> None:
        """Report an error from a thread that the connector started; the connector becomes FAILED."""

    @abstractmethod
    def plugin_metrics(self) -> PluginMetrics:
        """Return the registry of the connector's own metrics (KIP-877), with the tag `connector`, until `stop`."""


class Task(ABC):
    """Base of `SourceTask` and `SinkTask`, which document threads and the order of calls (Java: `Task`)."""

    def version(self) -> str:
        """Return the task's version, usually the connector's."""
        return UNDEFINED_VERSION

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Start the task with one of the configurations that `Connector.task_configs` returned."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the task."""


class Connector(ABC):
    """Base of `SourceConnector` and `SinkConnector`; extend one of those (Java: `Connector`)."""

    context: ConnectorContext

    def version(self) -> str:
        """Return the connector's version, shown by `GET /connector-plugins`. Called before anything else."""
        return UNDEFINED_VERSION

    def initialize(self, context: ConnectorContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this method."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Start with the connector's whole configuration, already validated. Called once per instance."""

    def reconfigure(self, props: Mapping[str, str]) -> None:
        """Apply a new configuration to the running connector; by default `stop`, then `start`."""
        self.stop()
        self.start(props)

    @abstractmethod
    def task_class(self) -> type[Task]:
        """Return the class of this connector's tasks."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return one configuration per task, `max_tasks` at most; a shorter list means fewer tasks.

        Keep the order stable: the runtime restarts the tasks whenever the result differs from the last one.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop and release all resources. Called once, also after a failed `start`."""

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        """Validate a configuration: return the outcome of each property. Called before each create and update.

        Checks against `config()`. An override may check combinations of properties, or connect to the outside system;
        it should call this method first and add its messages to the result::

            def validate(self, configs):
                values = super().validate(configs)
                if configs.get("user") and not configs.get("password"):
                    password = next(value for value in values if value.name == "password")
                    password.add_error_message("A user needs a password")
                return values
        """
        return self.config().validate(configs)

    def frame_check(self, configs: Mapping[str, str]) -> FrameJob | None:
        """Return a job by which Spark checks the tables, formats and paths in a configuration; by default None.

        Called before each create and update, on a separate instance, once the configuration has no other errors. The
        job's function runs in the worker, with an empty frame that has no meaning, and raises if it finds an error: a
        `ConfigError` is reported at the property that it names; a `RetriableError` is ignored, since the task may
        succeed. The outcome is also ignored if the check takes longer than some seconds, or Spark is not running. The
        function must change nothing outside and should start no Spark job, since users wait for it. Not in Java.
        """
        return None

    def datasets(self, topics: Collection[str]) -> Sequence[Dataset]:
        """Return the datasets outside Kafka that a source reads, or a sink writes, for lineage; by default none.

        Called between `start` and `stop`, on the connector's thread, about once a second if lineage is enabled; it must
        not block. `topics` are those that the connector has used so far, and those that a sink is to read.
        `headrace.api.datasets` makes names of paths and JDBC URLs. Not in Java.
        """
        return ()

    @abstractmethod
    def config(self) -> ConfigDef:
        """Return the definition of the connector's properties."""
