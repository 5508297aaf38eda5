# SPDX-License-Identifier: Apache-2.0
"""The process of one pair of clusters: a distributed worker whose connectors follow from the file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.cli.distributed import Variant, run_worker
from headrace.cli.mirror.mirror_config import CONNECTORS, INTERNAL_REST, MirrorConfig, Pair
from headrace.cli.mirror.pair_properties import worker_properties
from headrace.cli.stop_signals import StopSignals, run_until_stopped
from headrace.cli.worker_process import resolved_properties
from headrace.config.properties_file import read_properties
from headrace.herder.worker_parts import Json
from headrace.logs.formats import name_process
from headrace.model.cluster_config_state import Config, SessionKey

if TYPE_CHECKING:
    from headrace.distributed.distributed_herder import DistributedHerder

_VALIDATION: Final = "headrace.herder.connector_validation"
_NO_REQUESTS: Final = (
    f"{INTERNAL_REST} is false, so the nodes of a group cannot send requests to each other: set it to true on all"
)


class NoInternalRest:
    """Requests to other workers where there is no internal REST: each is refused, and may be tried again."""

    def put_task_configs(
        self, leader_url: str, connector: str, configs: Sequence[Config], key: SessionKey | None
    ) -> None:
        """Raise RetriableError: this worker may lead later."""
        _refuse(f"The task configurations of {connector} cannot be sent to the leader")

    def put_logger_level(self, leader_url: str, logger: str, level: str, key: SessionKey | None) -> None:
        """Raise RetriableError."""
        _refuse(f"The level of {logger} cannot be sent to the leader")

    def fence_zombies(self, leader_url: str, connector: str, key: SessionKey | None) -> None:
        """Raise RetriableError: this worker may lead later."""
        _refuse(f"The leader cannot be asked to fence former tasks of {connector}")

    def worker_health(self, worker_url: str, connector: str | None, key: SessionKey | None) -> Json:
        """Raise RetriableError."""
        _refuse("Other workers cannot be asked for their health")

    def worker_history(self, worker_url: str, connector: str | None, key: SessionKey | None) -> Json:
        """Raise RetriableError."""
        _refuse("Other workers cannot be asked for their history")

    def worker_report(self, worker_url: str, key: SessionKey | None) -> Json:
        """Raise RetriableError."""
        _refuse("Other workers cannot be asked for their figures")


def _refuse(what: str) -> NoReturn:
    raise RetriableError(f"{what}: {_NO_REQUESTS}")


@contextmanager
def mirror_config(file: Path) -> Iterator[MirrorConfig]:
    """Yield the file's properties; values of config providers are hidden in errors meanwhile."""
    properties = read_properties(file)
    with resolved_properties(properties) as resolved:
        yield MirrorConfig(properties, resolved)


@contextmanager
def errors_of(pair: Pair) -> Iterator[None]:
    """Name the pair in errors of its worker."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"Worker of {pair}: {error}", error.name) from error
    except ConnectError as error:
        raise ConnectError(f"Worker of {pair}: {error}") from error


def run_pair_worker(file: Path, wanted: str) -> int:
    """Run the worker of the pair that is written so until it has stopped; return the exit code."""
    name_process(wanted)
    # The connectors share one file, so each has properties that only the others know.
    logging.getLogger(_VALIDATION).setLevel(logging.ERROR)
    return run_until_stopped(lambda signals: _run(file, wanted, signals))


def _run(file: Path, wanted: str, signals: StopSignals) -> int:
    with mirror_config(file) as config:
        pair = next((each for each in config.pairs() if str(each) == wanted), None)
        if pair is None:
            raise ConfigError(f"{file} has no pair {wanted} any more")
        given, variant = worker_properties(config, pair), _variant(config, pair)
    with errors_of(pair):
        return run_worker(given, file, signals, variant)


def _variant(config: MirrorConfig, pair: Pair) -> Variant:
    configs = {name: config.connector_config(pair, name) for name in CONNECTORS}

    def begin(herder: DistributedHerder, worker: str) -> Future[None]:
        from headrace.cli.mirror.mirror_connectors import MirrorConnectors

        return MirrorConnectors(pair, configs, herder, worker).begin()

    from headrace.rest.middleware.filters import OnlyInternal

    internal = config.internal_rest
    return Variant(partial(OnlyInternal, internal=internal), None if internal else NoInternalRest(), begin)
