# SPDX-License-Identifier: Apache-2.0
"""Drop records (Java: `org.apache.kafka.connect.transforms.Filter`)."""

from __future__ import annotations

from headrace import __version__
from headrace.api.transform import R, Transformation


class Filter(Transformation[R]):
    """Drops every record that it gets; a predicate decides which those are."""

    def version(self) -> str:
        return __version__

    def apply(self, record: R) -> R | None:
        return None
