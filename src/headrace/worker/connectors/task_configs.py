# SPDX-License-Identifier: Apache-2.0
"""From a connector's answer to the task configurations in the config topic."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.connector import Connector
from headrace.api.errors import ConnectError
from headrace.config.connector_config import TASKS_MAX, TASKS_MAX_ENFORCE, ConnectorConfig
from headrace.config.sink_connector_config import TOPICS, TOPICS_REGEX

log = logging.getLogger(__name__)

TASK_CLASS: Final = "task.class"


def task_configs(connector: Connector, config: ConnectorConfig, task_class: str) -> list[dict[str, str]]:
    """Return a running connector's task configurations; called on the connector's own thread.

    Each gets ``task.class`` and the topics of a sink. Raise ConnectError if the result is not what the API asks for, or
    longer than ``tasks.max`` while ``tasks.max.enforce`` is on. Java: ``Worker.connectorTaskConfigs``.
    """
    returned = connector.task_configs(config.tasks_max)
    added = {key: config.raw[key] for key in (TOPICS, TOPICS_REGEX) if key in config.raw} | {TASK_CLASS: task_class}
    configs = [_checked(config.name, each) | added for each in _listed(config.name, returned)]
    _check_count(config, len(configs))
    return configs


def _listed(name: str, returned: Any) -> Sequence[Any]:
    if isinstance(returned, Sequence) and not isinstance(returned, str):
        return returned
    raise ConnectError(f"task_configs of connector {name} returned {_type(returned)}, not a list")


def _checked(name: str, config: Any) -> dict[str, str]:
    if not isinstance(config, Mapping):
        raise ConnectError(f"task_configs of connector {name} returned a list with {_type(config)}, not of dicts")
    for key, value in config.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ConnectError(f"task_configs of connector {name}: {key!r} is {value!r}; both have to be str")
    return dict(config)


def _check_count(config: ConnectorConfig, count: int) -> None:
    if count <= config.tasks_max:
        return
    message = f"Connector {config.name} made {count} tasks, more than {TASKS_MAX}={config.tasks_max}"
    if config.tasks_max_enforced:
        raise ConnectError(
            f"{message}. This is a bug of the connector; {TASKS_MAX_ENFORCE}=false in its configuration permits it"
        )
    log.warning("%s; permitted by %s=false", message, TASKS_MAX_ENFORCE)


def _type(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
