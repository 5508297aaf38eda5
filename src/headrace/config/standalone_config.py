# SPDX-License-Identifier: Apache-2.0
"""The configuration of a standalone worker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import NonEmptyString
from headrace.config.distributed_config import ENABLED, SUPPORT
from headrace.config.worker_config import WorkerConfig

OFFSETS_FILE: Final = "offset.storage.file.filename"
_EXACTLY_ONCE: Final = {SUPPORT: "enabled", ENABLED: "true"}


class StandaloneConfig(WorkerConfig):
    """The configuration of a standalone worker; ignores the properties of groups. Java: ``StandaloneConfig``."""

    DEFINITION = ConfigDef(WorkerConfig.DEFINITION).define(
        OFFSETS_FILE, Type.STRING, importance=Importance.HIGH, validator=NonEmptyString(),
        doc="File in which source offsets are stored.",
    )  # fmt: skip

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(props)
        for name, on in _EXACTLY_ONCE.items():
            # Java ignores it; but a user who sets it must learn that there is no such guarantee.
            if self.raw.get(name, "").strip().lower() == on:
                reason = "sources of a standalone worker are at-least-once; exactly-once needs headrace distributed"
                raise ConfigError.invalid(name, self.raw[name], reason)

    @property
    def offsets_file(self) -> Path:
        return Path(self.get(OFFSETS_FILE))
