# SPDX-License-Identifier: Apache-2.0
"""The datasets of connectors that read and write by Spark, for lineage."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.api.datasets import Dataset, file_dataset, jdbc_dataset


def table_datasets(options: Mapping[str, str], table: str | None, path: str | None) -> list[Dataset]:
    """Return the dataset of a table in a database, of one that Spark knows by its name, or of a directory.

    ``options`` are Spark's of its reader or writer. A query has none of these, and so no dataset.
    """
    if table and options.get("url"):
        return [jdbc_dataset(options["url"], table)]
    if table:
        return [Dataset("spark", table)]
    return [file_dataset(path)] if path else []
