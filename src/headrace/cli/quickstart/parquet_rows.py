# SPDX-License-Identifier: Apache-2.0
"""The rows of a sink's Parquet files, counted by the files' footers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ParquetRows:
    """A directory that a sink writes to. A file is never changed, so each is opened once. For one thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._rows: dict[Path, int] = {}

    def count(self) -> int:
        """Return the number of rows of the files that are there now."""
        import pyarrow.parquet as pq

        for file in self._files():
            if file not in self._rows:
                self._rows[file] = pq.ParquetFile(file).metadata.num_rows
        return sum(self._rows.values())

    def column(self, name: str) -> NDArray[np.int64]:
        """Return all values of a column of whole numbers."""
        import numpy as np
        import pyarrow.parquet as pq

        columns = [pq.ParquetFile(file).read([name]).column(0).to_numpy() for file in self._files()]
        return np.concatenate(columns).astype(np.int64) if columns else np.empty(0, np.int64)

    def _files(self) -> Iterator[Path]:
        """Iterate over the files that readers see: neither batches that are being written nor the sink's log."""
        yield from sorted(self.directory.glob("*.parquet"))
