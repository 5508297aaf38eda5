# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from headrace.config.tls_files import private_file


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_key_is_there_for_a_moment_and_for_this_user(in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if in_memory and not hasattr(os, "memfd_create"):
        pytest.skip("no files in memory here")
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    with private_file("secret\n") as path:
        assert Path(path).read_text() == "secret\n"
        open_to = Path(path) if in_memory else Path(path).parent
        assert stat.S_IMODE(open_to.stat().st_mode) & 0o077 == 0
    assert not Path(path).exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no files in memory here")
def test_no_disk_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with private_file("secret\n") as path:
        assert Path(path).read_text() == "secret\n"
