# SPDX-License-Identifier: Apache-2.0
"""The loggers of this process and their levels, to be looked at and changed at run time (KIP-495, KIP-976)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.logs.levels import level_of, name_of, number_of

ROOT: Final = "root"
"""The root logger's name, in any case; the empty name means it too."""

_log = logging.getLogger(__name__)

_KAFKA_CONNECT: Final = "org.apache.kafka.connect"
_ALIASES: Final[Mapping[str, str]] = {
    "org.apache.kafka": "headrace",
    "org.apache.kafka.clients": "headrace.kafka",
    _KAFKA_CONNECT: "headrace",
    f"{_KAFKA_CONNECT}.converters": "headrace.converters",
    f"{_KAFKA_CONNECT}.file": "headrace.connectors",
    f"{_KAFKA_CONNECT}.json": "headrace.converters",
    f"{_KAFKA_CONNECT}.runtime": "headrace",
    f"{_KAFKA_CONNECT}.runtime.distributed": "headrace.distributed",
    f"{_KAFKA_CONNECT}.runtime.errors": "headrace.task.errors",
    f"{_KAFKA_CONNECT}.runtime.isolation": "headrace.plugins",
    f"{_KAFKA_CONNECT}.runtime.rest": "headrace.rest",
    f"{_KAFKA_CONNECT}.runtime.standalone": "headrace.standalone",
    f"{_KAFKA_CONNECT}.runtime.Worker": "headrace.worker",
    f"{_KAFKA_CONNECT}.runtime.WorkerConnector": "headrace.worker",
    f"{_KAFKA_CONNECT}.runtime.WorkerSinkTask": "headrace.task",
    f"{_KAFKA_CONNECT}.runtime.WorkerSourceTask": "headrace.task",
    f"{_KAFKA_CONNECT}.runtime.WorkerTask": "headrace.task",
    f"{_KAFKA_CONNECT}.storage": "headrace.storage",
    f"{_KAFKA_CONNECT}.transforms": "headrace.transforms",
}
"""Kafka Connect's packages, and classes that stand alone, with what does the same here."""


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level, its own or inherited; ``last_modified`` in ms since the epoch, None if never set here."""

    level: str
    last_modified: int | None


class Loggers:
    """Thread-safe; nothing blocks. One per process, as the loggers are. Java: ``Loggers``."""

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._modified: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """``listener`` is called after each change, on the thread that made it; it must not block."""
        self._listeners.append(listener)

    def all_levels(self) -> dict[str, LoggerLevel]:
        """Of all loggers that there are, in order, but those that are OFF."""
        with self._lock:
            levels = {name: self._level(logger) for name, logger in sorted(_existing().items())}
        return {name: level for name, level in levels.items() if level.level != "OFF"}

    def level(self, name: str) -> LoggerLevel | None:
        """None if there is no such logger; to ask for one does not make it."""
        with self._lock:
            logger = _existing().get(_resolved(name))
            return None if logger is None else self._level(logger)

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Sets a logger's level and that of all below it; the names of those whose level is another one now, sorted.

        ``namespace`` need not exist yet. ValueError for what is no level.
        """
        wanted = level_of(level)
        if wanted is None:
            raise ValueError(f"'{level}' is no level")
        name = _resolved(namespace)
        with self._lock:
            changed = self._set(name, wanted)
        _log.info("Level of logger %s and those below is %s now", name, wanted)
        for listener in self._listeners:
            listener()
        return changed

    def follow(self, namespace: str, level: str) -> None:
        """As ``set_level``, of what somebody wrote for the whole cluster; what is no level is passed over."""
        if level_of(level) is None:
            _log.warning("'%s', the level for logger %s in the whole cluster, is none: passed over", level, namespace)
        else:
            self.set_level(namespace, level)

    def set_levels(self) -> dict[str, int]:
        """The loggers with a level of their own, and the levels as ``logging`` has them: all that makes the rest."""
        with self._lock:
            return {name: logger.level for name, logger in _existing().items() if logger.level}

    def _set(self, name: str, level: str) -> list[str]:
        logging.getLogger(None if name == ROOT else name)
        concerned = {each: logger for each, logger in _existing().items() if _within(each, name)}
        before = {each: _effective(logger) for each, logger in concerned.items()}
        for each, logger in concerned.items():
            # Those below without a level of their own go on inheriting.
            if each == name or logger.level:
                logger.setLevel(number_of(level))
        changed = sorted(each for each, logger in concerned.items() if _effective(logger) != before[each])
        self._modified.update(dict.fromkeys(changed, self._now_ms()))
        return changed

    def _level(self, logger: logging.Logger) -> LoggerLevel:
        return LoggerLevel(_effective(logger), self._modified.get(logger.name))


def apply_levels(levels: Mapping[str, int]) -> None:
    """Gives the loggers of this process the levels that ``Loggers.set_levels`` told of another one."""
    for name, number in levels.items():
        logging.getLogger(None if name == ROOT else name).setLevel(number)


def _existing() -> dict[str, logging.Logger]:
    """What has only loggers below it is none itself."""
    manager = logging.Logger.manager
    known = list(manager.loggerDict.items())
    return {ROOT: logging.getLogger(), **{name: each for name, each in known if isinstance(each, logging.Logger)}}


def _effective(logger: logging.Logger) -> str:
    return name_of(logger.getEffectiveLevel())


def _within(name: str, namespace: str) -> bool:
    return namespace in (ROOT, name) or name.startswith(f"{namespace}.")


def _resolved(name: str) -> str:
    if name == "" or name.lower() == ROOT:
        return ROOT
    parts = name.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_ALIASES[prefix] for prefix in prefixes if prefix in _ALIASES), name)
