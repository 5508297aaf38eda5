# SPDX-License-Identifier: Apache-2.0
"""The loggers of this process and their levels, readable and changeable at run time (KIP-495, KIP-976).

Levels have log4j's names, which Kafka Connect's users know, and the numbers of Python's ``logging``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

TRACE: Final = 5
OFF: Final = logging.CRITICAL + 10
"""Above all levels of records."""

_NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "OFF": OFF,
        "FATAL": logging.CRITICAL,
        "ERROR": logging.ERROR,
        "WARN": logging.WARNING,
        "INFO": logging.INFO,
        "DEBUG": logging.DEBUG,
        "TRACE": TRACE,
        "ALL": 1,
    }
)
LEVELS: Final = tuple(_NUMBERS)
"""The names of levels, from the highest down."""
_PYTHONS: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}

ROOT: Final = "root"
"""The root logger's name, in any case; the empty name means it too."""

log = logging.getLogger(__name__)

_KAFKA_CONNECT: Final = "org.apache.kafka.connect"
_ALIASES: Final[Mapping[str, str]] = {
    "org.apache.kafka": "headrace",
    "org.apache.kafka.clients": "headrace.kafka",
    _KAFKA_CONNECT: "headrace",
    f"{_KAFKA_CONNECT}.converters": "headrace.converters",
    f"{_KAFKA_CONNECT}.file": "headrace.connectors",
    f"{_KAFKA_CONNECT}.json": "headrace.converters",
    f"{_KAFKA_CONNECT}.runtime": "headrace",
    f"{_KAFKA_CONNECT}.runtime.AbstractHerder": "headrace.herder",
    f"{_KAFKA_CONNECT}.runtime.distributed": "headrace.distributed",
    f"{_KAFKA_CONNECT}.runtime.distributed.DistributedHerder": "headrace.herder",
    f"{_KAFKA_CONNECT}.runtime.errors": "headrace.task.errors",
    f"{_KAFKA_CONNECT}.runtime.isolation": "headrace.plugins",
    f"{_KAFKA_CONNECT}.runtime.rest": "headrace.rest",
    f"{_KAFKA_CONNECT}.runtime.standalone": "headrace.standalone",
    f"{_KAFKA_CONNECT}.runtime.standalone.StandaloneHerder": "headrace.herder",
    f"{_KAFKA_CONNECT}.runtime.Worker": "headrace.worker",
    f"{_KAFKA_CONNECT}.runtime.WorkerConnector": "headrace.worker",
    f"{_KAFKA_CONNECT}.runtime.WorkerSinkTask": "headrace.task",
    f"{_KAFKA_CONNECT}.runtime.WorkerSourceTask": "headrace.task",
    f"{_KAFKA_CONNECT}.runtime.WorkerTask": "headrace.task",
    f"{_KAFKA_CONNECT}.storage": "headrace.storage",
    f"{_KAFKA_CONNECT}.transforms": "headrace.transforms",
}
"""Packages and some classes of Kafka Connect, with their counterparts here."""


def level_of(text: str) -> str | None:
    """Return the level's name for a text in any case, Python's names included; None for no level."""
    name = text.upper()
    name = _PYTHONS.get(name, name)
    return name if name in _NUMBERS else None


def number_of(level: str) -> int:
    """Return the number that ``logging`` has for a level's name."""
    return _NUMBERS[level]


def name_of(number: int) -> str:
    """Return the name of the highest level not above ``number``."""
    return next((name for name, least in _NUMBERS.items() if number >= least), "ALL")


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level, its own or inherited; ``last_modified`` in ms since the epoch, None if never set here."""

    level: str
    last_modified: int | None


class Loggers:
    """The levels of all loggers; one instance per process. Thread-safe; nothing blocks. Java: ``Loggers``."""

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._modified: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after each change, on the thread that made it; it must not block."""
        self._listeners.append(listener)

    def all_levels(self) -> dict[str, LoggerLevel]:
        """Return the levels of all existing loggers by name, in order, except those that are OFF."""
        with self._lock:
            levels = {name: self._level(logger) for name, logger in sorted(_existing().items())}
        return {name: level for name, level in levels.items() if level.level != "OFF"}

    def level(self, name: str) -> LoggerLevel | None:
        """Return a logger's level, None if it does not exist; does not create it."""
        with self._lock:
            logger = _existing().get(_resolved(name))
            return None if logger is None else self._level(logger)

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and all below it; return the names of those whose level has changed, sorted.

        ``namespace`` need not exist yet. Raise ValueError for no level.
        """
        wanted = level_of(level)
        if wanted is None:
            raise ValueError(f"'{level}' is no level")
        name = _resolved(namespace)
        with self._lock:
            changed = self._set(name, wanted)
        log.info("Level of logger %s and those below is %s now", name, wanted)
        for listener in self._listeners:
            listener()
        return changed

    def follow(self, namespace: str, level: str) -> None:
        """Set a level that was written for the whole cluster, as ``set_level``; skip a text that is no level."""
        if level_of(level) is None:
            log.warning("'%s', the level for logger %s in the whole cluster, is none: skipped", level, namespace)
        else:
            self.set_level(namespace, level)

    def set_levels(self) -> dict[str, int]:
        """Return the loggers with a level of their own and its number: the others inherit theirs from these."""
        with self._lock:
            return {name: logger.level for name, logger in _existing().items() if logger.level}

    def _set(self, name: str, level: str) -> list[str]:
        logging.getLogger(None if name == ROOT else name)
        concerned = {each: logger for each, logger in _existing().items() if _within(each, name)}
        before = {each: _effective(logger) for each, logger in concerned.items()}
        for each, logger in concerned.items():
            # Those below without a level of their own keep inheriting.
            if each == name or logger.level:
                logger.setLevel(number_of(level))
        changed = sorted(each for each, logger in concerned.items() if _effective(logger) != before[each])
        self._modified.update(dict.fromkeys(changed, self._now_ms()))
        return changed

    def _level(self, logger: logging.Logger) -> LoggerLevel:
        return LoggerLevel(_effective(logger), self._modified.get(logger.name))


def apply_levels(levels: Mapping[str, int]) -> None:
    """Give the loggers of this process the levels that ``Loggers.set_levels`` returned in another one."""
    for name, number in levels.items():
        logging.getLogger(None if name == ROOT else name).setLevel(number)


def _existing() -> dict[str, logging.Logger]:
    """Return all loggers by name; a name that only has loggers below it is none itself."""
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
