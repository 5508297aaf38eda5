# SPDX-License-Identifier: Apache-2.0
"""Another database than PostgreSQL, without a server: H2, in the memory of whoever connects to it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import RetriableError
from headrace.jvm.ivy import resolve_jars

DRIVER = "com.h2database:h2:2.3.232"


def h2_jar() -> str:
    """The database with its driver, as `spark.jars` takes it. Skips the test where it cannot be fetched."""
    try:
        return ",".join(map(str, resolve_jars([DRIVER])))
    except RetriableError as error:
        pytest.skip(str(error))


def h2_url(name: str, script: Path) -> str:
    """A database that lives as long as its JVM. Each connection to it runs the script first, which has to bear that."""
    return f"jdbc:h2:mem:{name};DB_CLOSE_DELAY=-1;INIT=RUNSCRIPT FROM '{script}'"
