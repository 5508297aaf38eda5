# SPDX-License-Identifier: Apache-2.0
"""The files of a quickstart, and the comparison of topic and rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.api.errors import ConfigError
from headrace.cli.quickstart.comparison import Comparison, ParquetRows, compare
from headrace.cli.quickstart.run_directory import RunDirectory


def write(directory: Path, name: str, offsets: list[int]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"value": ["x"] * len(offsets), "kafka_offset": offsets}), directory / name)


def test_rows_of_all_files_but_those_of_unfinished_batches_are_counted(tmp_path: Path) -> None:
    rows = ParquetRows(tmp_path / "orders")
    assert rows.count() == 0
    assert rows.column("kafka_offset").size == 0
    write(tmp_path / "orders", "part-1.snappy.parquet", [0, 1])
    write(tmp_path / "orders" / "_headrace" / "x", "part-2.snappy.parquet", [2])
    assert rows.count() == 2
    write(tmp_path / "orders", "part-2.snappy.parquet", [3])
    assert rows.count() == 3
    assert rows.column("kafka_offset").tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([0, 1, 3], Comparison(3, 3, 0, 0)),
        ([0, 3], Comparison(3, 2, 1, 0)),
        ([0, 1, 1, 3], Comparison(3, 4, 0, 1)),
        ([0, 1, 1], Comparison(3, 3, 1, 1)),
        ([0, 1, 3, 9], Comparison(3, 4, 0, 0)),
    ],
)
def test_missing_and_duplicated_rows(rows: list[int], expected: Comparison) -> None:
    found = compare(np.array([0, 1, 3]), np.array(rows, np.int64))
    assert found == expected
    assert found.exactly_once is (rows == [0, 1, 3])


def test_without_directory_a_temporary_one_of_which_nothing_stays_but_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = RunDirectory.open(None)
    assert directory.path.parent == tmp_path
    directory.broker.mkdir()
    directory.worker_log.touch()
    write(directory.output("orders"), "part-1.parquet", [0])
    directory.remove_data()
    assert [path.name for path in directory.path.iterdir()] == ["orders"]


def test_a_directory_without_rows_is_removed(tmp_path: Path) -> None:
    directory = RunDirectory.open(tmp_path / "run")
    (directory.output("orders") / "_headrace").mkdir(parents=True)
    directory.worker_file.touch()
    directory.remove_data()
    assert not directory.path.exists()


def test_a_directory_is_continued_if_it_has_the_data_of_a_former_run_and_refused_if_it_has_other_files(
    tmp_path: Path,
) -> None:
    assert not RunDirectory.open(tmp_path).continues
    (tmp_path / "kafka").mkdir()
    (tmp_path / "orders").mkdir()
    assert RunDirectory.open(tmp_path).continues
    (tmp_path / "kafka").rmdir()
    with pytest.raises(ConfigError, match=f"--directory={tmp_path}: there are files"):
        RunDirectory.open(tmp_path)


def test_a_directory_that_cannot_be_used_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file cannot be used: File exists"):
        RunDirectory.open(tmp_path / "file")
