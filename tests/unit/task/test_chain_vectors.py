# SPDX-License-Identifier: Apache-2.0
"""A connector's transforms and predicates against what Java's worker makes of them: tests/vectors/predicates.jsonl."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.config.connector_config import ConnectorConfig
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.transformation_chain import create_transformation_chain
from tests.unit.record_vectors import record_of, same_record
from tests.vectors.reader import load

# Java knows nested classes by their full names only; here the short ones are names as well.
OURS = {"predicates/chain-simple-nested-name"}


@pytest.mark.parametrize(
    "vector", [case for case in load("predicates", op="chain") if case.values[0]["id"] not in OURS]
)
def test_as_java(vector: dict[str, Any], errors: Callable[..., Any]) -> None:
    records = [record_of(record) for record in vector["input"]["records"]]

    def apply() -> list[Any]:
        chain = create_transformation_chain(ConnectorConfig(vector["config"]), Plugins(), errors(tolerates=False))
        try:
            return chain.apply_all(records, records)
        finally:
            chain.close()

    if "error" in vector:
        with pytest.raises(ConfigError if vector["error"]["phase"] == "configure" else ToleranceExceededError):
            apply()
        return
    found = apply()
    assert len(found) == len(vector["output"])
    assert all(map(same_record, vector["output"], found)), found


def test_short_names_of_nested_classes(errors: Callable[..., Any]) -> None:
    [vector] = [case.values[0] for case in load("predicates", op="chain") if case.values[0]["id"] in OURS]
    records = [record_of(record) for record in vector["input"]["records"]]
    chain = create_transformation_chain(ConnectorConfig(vector["config"]), Plugins(), errors(tolerates=False))
    [found] = chain.apply_all(records, records)
    assert found.value.get("f") == "v1"
