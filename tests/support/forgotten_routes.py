# SPDX-License-Identifier: Apache-2.0
"""FastAPI remembers the handlers of all applications that there were, and with them each worker of this process."""

from __future__ import annotations

import gc

from fastapi.dependencies import models


def forget_routes() -> None:
    """Let go of workers that have stopped: each has dozens of threads of its Kafka clients."""
    for each in vars(models).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    gc.collect()
