# SPDX-License-Identifier: Apache-2.0
"""What is said where a disk is full."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.api.errors import ConnectError
from headrace.spark.engine.spark_session import _load_native_code
from headrace.spark.errors import error_texts
from headrace.spark.errors.error_texts import nearly_full, with_limit, with_remedy


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is full and one that is not."""

    def asked(place: Path) -> SimpleNamespace:
        if place.name == "none":
            raise FileNotFoundError(place)
        return SimpleNamespace(f_bavail=0 if place.name == "full" else 1 << 20, f_frsize=4096)

    monkeypatch.setattr(error_texts, "os", SimpleNamespace(**{**vars(os), "statvfs": asked}))


PLACES = [Path("/a/full"), Path("/b/roomy"), Path("/c/none")]


@pytest.mark.parametrize("text", ["[Errno 28] No space left on device", "[Errno 122] Disk quota exceeded"])
def test_the_place_is_named(disks: None, text: str) -> None:
    reported = with_remedy(text, PLACES)
    assert reported == f"{text}: no space is left in /a/full, which has the worker's temporary files; free some"


def test_nothing_is_said_of_what_is_not_so(disks: None) -> None:
    assert with_remedy("Connection refused", PLACES) == "Connection refused"
    assert with_remedy("No space left on device", PLACES[1:]) == "No space left on device", "a sink's own disk"
    assert nearly_full(PLACES) == [Path("/a/full")]


class Jvm:
    """As py4j shows one whose codecs cannot unpack their native code into a directory."""

    def __init__(self, temporary: str) -> None:
        self.asked: list[str] = []
        system = SimpleNamespace(getProperty=lambda name: temporary)
        self.java = SimpleNamespace(lang=SimpleNamespace(System=system, Class=SimpleNamespace(forName=self._fail)))

    def _fail(self, name: str) -> None:
        self.asked.append(name)
        raise RuntimeError("java.lang.UnsatisfiedLinkError: no snappyjava in java.library.path")


def test_a_jvm_whose_codecs_found_no_space_is_not_used(disks: None) -> None:
    with pytest.raises(ConnectError, match=r"No space left on device: org\.xerial\.snappy\.Snappy cannot unpack"):
        _load_native_code(Jvm("/a/full"))


def test_a_codec_that_has_no_native_code_here_is_done_without(disks: None) -> None:
    jvm = Jvm("/b/roomy")
    _load_native_code(jvm)
    assert len(jvm.asked) == 2


@pytest.mark.parametrize(("limit", "expected"), [(64, True), (1024, False), (resource.RLIM_INFINITY, False)])
def test_too_few_files(monkeypatch: pytest.MonkeyPatch, limit: int, expected: bool) -> None:
    monkeypatch.setattr(error_texts.resource, "getrlimit", lambda which: (limit, limit))
    text = with_limit("Error: A JNI error has occurred")
    assert text.startswith("Error: A JNI error has occurred")
    assert (f"may have {limit} files open (ulimit -n)" in text and "prlimit --pid" in text) is expected
