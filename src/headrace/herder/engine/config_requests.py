# SPDX-License-Identifier: Apache-2.0
"""Requests about configurations of connectors: validated first, then written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeAlias

from headrace.api.errors import RetriableError
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.connector_validation import CheckedConfig
from headrace.herder.core.config_writes import PutConnector, WriteRequest
from headrace.herder.engine.herder_services import QueryServices
from headrace.herder.errors import NotFoundError, NotLeaderError, OvertakenError
from headrace.herder.herder import PutResult
from headrace.model.cluster_config_state import Config
from headrace.model.futures import chain_future, failed_future, map_future, recover_future
from headrace.worker.stages import Stages

_Patch: TypeAlias = Mapping[str, str | None]
_MakeWrite: TypeAlias = Callable[[int, dict[str, str | None]], PutConnector]


class ConfigRequests:
    """The requests of ``Herder`` that validate a configuration, on threads of the stages. Any thread may call them."""

    def __init__(
        self,
        query_services: QueryServices,
        stages: Stages,
        submit_write: Callable[[Callable[[int], WriteRequest]], Future[bool]],
        not_leader_error: Callable[[], NotLeaderError | None],
    ) -> None:
        """``submit_write`` writes by the herder, and ``not_leader_error`` returns the reason if this worker may not."""
        self._queries = query_services.queries
        self._validator = query_services.validator
        self._stages = stages
        self._submit_write = submit_write
        self._not_leader_error = not_leader_error

    def put(self, name: str, config: Config, make: _MakeWrite) -> Future[PutResult]:
        """Validate ``config``, and have the write made of it by ``make``."""

        def put(checked: CheckedConfig) -> Future[PutResult]:
            def result(created: bool) -> PutResult:
                info = self._queries.describe_connector(name, checked.config)
                return PutResult(created, replace(info, warnings=checked.warnings or None))

            return map_future(self._submit_write(lambda number: make(number, checked.config)), result)

        elsewhere = self._not_leader_error()
        if elsewhere is not None:  # the leader will validate it anyway
            return failed_future(elsewhere)
        stage = f"validation of the configuration of connector {name}"
        return chain_future(self._stages.run_in_background(stage, lambda: self._validator.check(name, config)), put)

    def patch(self, name: str, patch: _Patch, newest: Callable[[], Config]) -> Future[PutResult]:
        """Patch the configuration that is the newest when the write's turn comes: repeat an overtaken patch.

        ``newest`` returns the configuration as this worker knows it, or raises NotFoundError or RetriableError.
        """
        elsewhere = self._not_leader_error()
        if elsewhere is not None:
            return failed_future(elsewhere)
        try:
            base = newest()
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        patched = {key: text for key, text in {**base, **patch}.items() if key not in patch or text is not None}
        put = self.put(
            name, patched, lambda number, checked: PutConnector(number, name, checked, None, True, base=base)
        )
        return recover_future(put, OvertakenError, lambda: self.patch(name, patch, newest))

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        stage = f"validation of a configuration for {plugin}"
        return self._stages.run_in_background(stage, lambda: self._validator.validate(plugin, config))

    def plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        return self._stages.run_in_background(
            f"config of plugin {plugin}", lambda: self._validator.plugin_config(plugin)
        )
