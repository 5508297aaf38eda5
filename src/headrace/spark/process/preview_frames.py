# SPDX-License-Identifier: Apache-2.0
"""``headrace.api.frames.Frames`` in the process of a preview, over a connection of its own to the worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from headrace.api.errors import RetriableError
from headrace.spark.channel.endpoint import Endpoint, Link
from headrace.spark.channel.messages import FrameFault, FrameJobEnded, RunFrameJob
from headrace.spark.process.process_frames import ProcessFrames

CONNECT: Final = "headrace.spark.process.preview_frames:connect"
_ADDRESS, _KEY = "address", "key"
_GONE: Final = "the worker does not run jobs of this preview any more"


class StartSpark:
    """Up: jobs will follow, and Spark may take its time to start."""


def settings_of(endpoint: Endpoint) -> dict[str, Any]:
    """Return the settings of ``connect`` for a Unix socket of the worker's, as JSON."""
    return {_ADDRESS: str(endpoint.address), _KEY: endpoint.authkey.hex()}


def connect(settings: Mapping[str, Any]) -> ProcessFrames:
    """Connect to the worker, which starts Spark now. RetriableError if it is not there."""
    try:
        link = Endpoint(settings[_ADDRESS], bytes.fromhex(settings[_KEY])).connect()
    except (OSError, EOFError) as error:
        raise RetriableError(_GONE) from error
    # Jobs may start programs, which have no business with it.
    os.set_inheritable(link.fileno(), False)
    return _Connection(link).frames


class _Connection:
    """The process' end: one thread sends, and a listener takes the ends of jobs."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._over = False
        self.frames = ProcessFrames(self._send, link)
        link.send(StartSpark())
        threading.Thread(target=self._listen, name="preview-frames", daemon=True).start()

    def _send(self, message: object) -> None:
        if isinstance(message, RunFrameJob):
            with self._lock:
                self._running.add(message.number)
                if self._over:
                    raise RetriableError(_GONE)
        with suppress(OSError):  # the listener notices as well
            self._link.send(message)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                ended = self._link.recv()
                with self._lock:
                    self._running.discard(ended.number)
                self.frames.on_job_ended(ended)
        with self._lock:
            self._over = True
            left = list(self._running)
        for number in left:
            self.frames.on_job_ended(FrameJobEnded(number, fault=FrameFault.RETRIABLE, error=_GONE))
