# SPDX-License-Identifier: Apache-2.0
"""The way from the stores of configurations and statuses to the herder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.herder.core.herder_events import (
    AutomaticRestartRequested,
    ConfigUpdated,
    FailureSeen,
    RestartPlanned,
    RestartRequested,
    StrayStatusSeen,
)
from headrace.herder.engine.automatic_restarts import has_failed
from headrace.herder.engine.herder_inbox import HerderInbox
from headrace.herder.engine.statuses import StatusStore, is_stray
from headrace.logs.loggers import Loggers
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.storage import config_log
from headrace.storage.config_log import ConfigUpdate
from headrace.storage.status_records import StatusKey, is_topic_key


class ConfigUpdateListener:
    """Turns changes of the config store into the herder's events; levels of loggers are set at once.

    Java: ``DistributedHerder.ConfigUpdateListener``.
    """

    def __init__(self, inbox: HerderInbox, loggers: Loggers) -> None:
        self._inbox = inbox
        self._loggers = loggers

    def on_config_update(self, state: ClusterConfigState, updates: tuple[ConfigUpdate, ...]) -> None:
        """Post the new state and the requests in ``updates``. Called on the store's thread; does not block."""
        connectors = tuple(update.name for update in updates if isinstance(update, config_log.ConnectorUpdated))
        tasks = tuple(update.name for update in updates if isinstance(update, config_log.TasksUpdated))
        self._inbox.post(ConfigUpdated(state, connectors, tasks))
        for update in updates:
            match update:
                case config_log.RestartRequested(connector, only_failed, include_tasks, None):
                    self._inbox.post(RestartRequested(connector, only_failed, include_tasks))
                case config_log.TaskRestartRequested(id, None):
                    self._inbox.post(RestartPlanned((), (id,)))
                case config_log.RestartRequested(connector=id, count=RestartCount() as count):
                    self._inbox.post(AutomaticRestartRequested(id, count))
                case config_log.TaskRestartRequested(id, RestartCount() as count):
                    self._inbox.post(AutomaticRestartRequested(id, count))
                case config_log.LoggerLevelChanged(logger, level):
                    self._loggers.follow(logger, level)


class StatusUpdateListener:
    """The way from the status store to the herder and the worker. Called on any thread; nothing blocks."""

    def __init__(
        self,
        inbox: HerderInbox,
        config: Callable[[], ClusterConfigState],
        on_topics_reset: Callable[[str], None],
    ) -> None:
        """``on_topics_reset`` has the connector's tasks here report again the topics that they use."""
        self._inbox = inbox
        self._config = config
        self._on_topics_reset = on_topics_reset

    def on_status_update(self, store: StatusStore, keys: Sequence[StatusKey]) -> None:
        """Request a sweep of stray statuses; report failures, and topics that were reset, here or elsewhere."""
        known = self._config()
        if any(is_stray(key, known) and store.contains(key) for key in keys):
            self._inbox.post(StrayStatusSeen())
        if any(has_failed(store, key) for key in keys):
            self._inbox.post(FailureSeen())
        for connector in {key[0] for key in keys if is_topic_key(key) and not store.contains(key)}:
            self._on_topics_reset(connector)
