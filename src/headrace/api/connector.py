# SPDX-License-Identifier: Apache-2.0
"""Connectors: they run on the worker, look after their task configurations and touch no data.

The runtime makes one instance per connector with a constructor without arguments and calls it from one thread at a
time: `initialize`, `start`, `task_configs` (again after each `request_task_reconfiguration`), `stop`. `validate` and
`config` are called on instances of their own, possibly at the same time and without `start`. No method may block for
long: a call that does not return delays only this connector, but REST requests that wait for it answer with an error
that names the method. An error raised by any of them makes the connector FAILED, and its text is what the user reads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.frames import FrameJob

UNDEFINED_VERSION = "undefined"


class ConnectorContext(ABC):
    """What the runtime offers a connector. May be called from any thread, from `start` on until `stop`."""

    @abstractmethod
    def request_task_reconfiguration(self) -> None:
        """Ask the runtime to call `task_configs` again, soon and on its own thread. Returns at once."""

    @abstractmethod
    def raise_error(self, error: BaseException) -> None:
        """Report an error that happened on a thread of the connector's own; the connector becomes FAILED."""


class Task(ABC):
    """What source and sink tasks have in common. See `SourceTask` and `SinkTask` for threads and order of calls."""

    def version(self) -> str:
        """The version of the task, usually the connector's."""
        return UNDEFINED_VERSION

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Begin work with one of the maps that `Connector.task_configs` returned."""

    @abstractmethod
    def stop(self) -> None:
        """End the work."""


class Connector(ABC):
    """Base of `SourceConnector` and `SinkConnector`; extend one of those (Java: `Connector`)."""

    context: ConnectorContext

    def version(self) -> str:
        """The connector's version, as `GET /connector-plugins` shows it. Called before anything else."""
        return UNDEFINED_VERSION

    def initialize(self, context: ConnectorContext) -> None:
        """Keep the context. Called once, before `start`; an override must call this."""
        self.context = context

    @abstractmethod
    def start(self, props: Mapping[str, str]) -> None:
        """Begin with the connector's whole configuration, already validated. Called once per instance."""

    def reconfigure(self, props: Mapping[str, str]) -> None:
        """Take over a new configuration while running. By default: `stop`, then `start`."""
        self.stop()
        self.start(props)

    @abstractmethod
    def task_class(self) -> type[Task]:
        """The class of this connector's tasks."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """One configuration per task, at most `max_tasks`; a shorter list means fewer tasks.

        Same input, same order: the runtime restarts tasks when the result differs from the last one.
        """

    @abstractmethod
    def stop(self) -> None:
        """Release everything. Called once, also when `start` failed."""

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        """Check a configuration and collect every error in it, raising none. Called before each create and update.

        By default checks against `config()`. An override may check properties in their combination, or look at the
        outside world; it should call this first and add its messages to the result.
        """
        return self.config().validate(configs)

    def frame_check(self, configs: Mapping[str, str]) -> FrameJob | None:
        """A job by which Spark looks at what a configuration names outside: tables, formats, paths. By default none.

        Asked for before each create and update, on an instance of its own, once nothing else is wrong with the
        configuration. The job's function runs in the worker, with an empty frame that is of no interest, and raises:
        a `ConfigError` is told at the property that it names, a `RetriableError` not at all, for the task may fare
        better. What takes longer than some seconds, or finds Spark not running, is not told either. The function must
        change nothing outside, and should start no Spark job: users wait for it. Not in Java.
        """
        return None

    @abstractmethod
    def config(self) -> ConfigDef:
        """The properties that this connector understands."""
