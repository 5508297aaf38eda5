# SPDX-License-Identifier: Apache-2.0
"""The comparison of a topic's records with the rows of the files, by the records' offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts: records that a read_committed consumer sees, rows, records without a row, rows that are not the first."""

    records: int
    rows: int
    missing: int
    duplicates: int

    @property
    def exactly_once(self) -> bool:
        return self.records == self.rows and not self.missing and not self.duplicates


def compare(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> Comparison:
    """Compare the offsets of the records with those of the rows."""
    import numpy as np

    distinct = np.unique(rows)
    missing = np.setdiff1d(offsets, distinct).size
    return Comparison(offsets.size, rows.size, missing, rows.size - distinct.size)
