# SPDX-License-Identifier: Apache-2.0
"""The way from the config topic to the herder. Java: ``DistributedHerder.ConfigUpdateListener``."""

from __future__ import annotations

from headrace.distributed.core.herder_events import ConfigUpdated, RestartPlanned, RestartRequested
from headrace.distributed.herder_inbox import HerderInbox
from headrace.logs.loggers import Loggers
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.storage import config_log
from headrace.storage.config_log import ConfigUpdate


class ConfigUpdateListener:
    """Turns changes of the config topic into the herder's events; levels of loggers are set at once."""

    def __init__(self, inbox: HerderInbox, loggers: Loggers) -> None:
        self._inbox = inbox
        self._loggers = loggers

    def on_config_update(self, state: ClusterConfigState, updates: tuple[ConfigUpdate, ...]) -> None:
        """Post the new state and the requests in ``updates``. Called on the log's thread; does not block."""
        connectors = tuple(update.name for update in updates if isinstance(update, config_log.ConnectorUpdated))
        tasks = tuple(update.name for update in updates if isinstance(update, config_log.TasksUpdated))
        self._inbox.post(ConfigUpdated(state, connectors, tasks))
        for update in updates:
            match update:
                case config_log.RestartRequested(connector, only_failed, include_tasks):
                    self._inbox.post(RestartRequested(connector, only_failed, include_tasks))
                case config_log.TaskRestartRequested(id):
                    self._inbox.post(RestartPlanned((), (id,)))
                case config_log.LoggerLevelChanged(logger, level):
                    self._loggers.follow(logger, level)
