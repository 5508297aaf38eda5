# SPDX-License-Identifier: Apache-2.0
"""Every test below has a JVM in the test's process, with the jars of Kafka Connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import RetriableError
from headrace.java import jvm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session", autouse=True)
def java() -> None:
    """The JVM of this process, which ends with it."""
    try:
        jvm.start()
    except RetriableError as error:
        pytest.skip(str(error))
