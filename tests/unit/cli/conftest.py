# SPDX-License-Identifier: Apache-2.0
"""Commands in this process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts removes, and tells of, what killed ones have left where it has its temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
