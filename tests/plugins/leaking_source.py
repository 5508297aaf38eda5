# SPDX-License-Identifier: Apache-2.0
"""A source that opens a file with each start of its connector, and closes none if `leak` is true. It polls nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping

from unready_source import UnreadySource


class LeakingSource(UnreadySource):
    def start(self, props: Mapping[str, str]) -> None:
        super().start({"obstacle": os.devnull + "/none", **props})
        descriptor = os.open(os.devnull, os.O_RDONLY)
        if props["leak"] != "true":
            os.close(descriptor)
