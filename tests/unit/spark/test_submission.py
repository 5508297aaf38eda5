# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.spark.engine.submission import Submission


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    former = os.umask(0)
    yield
    os.umask(former)


def test_the_files_are_for_us_alone_and_go_away(tmp_path: Path) -> None:
    (tmp_path / "spark.properties").write_text("left by a start that failed")
    (tmp_path / "spark.properties").chmod(0o666)
    made = Submission.write_files(tmp_path, {"spark.a": "b"})
    assert [stat.S_IMODE(file.stat().st_mode) for file in (made.properties, made.options)] == [0o600, 0o600]
    made.remove()
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_properties_are_written_as_java_reads_them(tmp_path: Path) -> None:
    made = Submission.write_files(tmp_path, {"spark.a=b": "  two\\three\nfour\t#", "spark.c": "ü = ok"})
    written = made.properties.read_text(encoding="utf-8").splitlines()
    assert written[:2] == ["spark.a\\=b=\\  two\\\\three\\nfour\\t#", "spark.c=ü = ok"]


def test_java_options_are_in_the_other_file_and_the_users_come_last(tmp_path: Path) -> None:
    given = {
        "spark.driver.extraJavaOptions": "-Dpassword='a b' -Dc=\\\"d",
        "spark.driver.defaultJavaOptions": "-Ddefault=1",
    }
    made = Submission.write_files(tmp_path, given, ["-Dours=1"])
    assert made.options.read_text() == '"-Dours=1"\n"-Ddefault=1"\n"-Dpassword=a b"\n"-Dc=\\"d"\n'
    properties = made.properties.read_text()
    assert f"spark.driver.extraJavaOptions=@{made.options}\n" in properties
    assert "spark.driver.defaultJavaOptions=\n" in properties and "password" not in properties
