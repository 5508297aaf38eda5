# SPDX-License-Identifier: Apache-2.0
"""The files of a quickstart: Parquet files, which stay, and what the broker and the worker need while they run."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

_PREFIX: Final = "headrace-quickstart-"
_BROKER: Final = "kafka"
_WORKER_FILE: Final = "worker.properties"
_WORKER_LOG: Final = "worker.log"


class RunDirectory:
    """A directory of one run, or of several that continue each other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broker = path / _BROKER
        self.worker_file = path / _WORKER_FILE
        self.worker_log = path / _WORKER_LOG
        self.continues = self.broker.exists()
        """True if a former run has kept its data here."""

    @classmethod
    def open(cls, wanted: Path | None) -> RunDirectory:
        """Create the directory; None is a new temporary one.

        Raises:
            ConfigError: it cannot be created, or has files that are not those of a quickstart to continue.
        """
        try:
            if wanted is None:
                return cls(Path(tempfile.mkdtemp(prefix=_PREFIX)))
            wanted = wanted.expanduser().absolute()
            wanted.mkdir(parents=True, exist_ok=True)
            occupied = any(wanted.iterdir())
        except OSError as error:
            raise ConfigError(f"{wanted or tempfile.gettempdir()} cannot be used: {error.strerror or error}") from error
        directory = cls(wanted)
        if occupied and not directory.continues:
            raise ConfigError(
                f"--directory={wanted}: there are files, and no quickstart that can be continued (it keeps its data "
                "with --keep). Name a directory that is empty or does not exist"
            )
        return directory

    def output(self, topic: str) -> Path:
        """Return the directory of the topic's Parquet files."""
        return self.path / topic

    def remove_data(self) -> None:
        """Remove all but the Parquet files, and also the directory if there are none."""
        shutil.rmtree(self.broker, ignore_errors=True)
        for file in (self.worker_file, self.worker_log):
            file.unlink(missing_ok=True)
        if not any(name.endswith(".parquet") for _, _, names in os.walk(self.path) for name in names):
            shutil.rmtree(self.path, ignore_errors=True)
