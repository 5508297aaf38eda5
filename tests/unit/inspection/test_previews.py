# SPDX-License-Identifier: Apache-2.0
"""The answer to a preview without Spark; the sandbox is real, its job is played."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.inspection.preview.previews import FramesOffer, PreviewOptions, run_preview
from headrace.inspection.sandbox import Sandbox
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.task.task_spec import TaskKind
from headrace.worker.tasks.task_basis import TaskBasis


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])


def previewed(shown: int, missing: str | None) -> dict[str, Any]:
    """The answer with so many records, where Spark has not been there for a reason."""

    @contextmanager
    def frames(until: float) -> Iterator[FramesOffer]:
        yield FramesOffer("none:none", {}, lambda: missing)

    config = {"name": "c", "connector.class": "C", "shown": str(shown)}
    basis = TaskBasis(TaskKind.SOURCE, ResolvedConfig(config, config, {}), config, {}, {}, True)
    sandbox = Sandbox(jobs={"preview": "sandbox_jobs:preview_of"})
    return run_preview(sandbox, basis, PreviewOptions(timeout_s=60), frames=frames)


def test_without_a_record_since_spark_is_not_there_it_can_be_retried() -> None:
    with pytest.raises(RetriableError, match="There is no preview of connector c: Spark has not started"):
        previewed(0, "Spark has not started")


def test_records_are_shown_also_without_spark() -> None:
    assert previewed(2, "Spark has not started")["records"] == [0, 1]
    assert previewed(0, None)["records"] == []
