# SPDX-License-Identifier: Apache-2.0
"""Checks of ports."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from headrace.doctor import ports
from headrace.doctor.findings import Level
from headrace.doctor.subject import Subject


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_that_is_taken_names_the_process(taken: int, host: str) -> None:
    finding = ports.listener_finding(f"http://{host}:{taken}", "listeners", ports.refusal)
    assert finding.level is Level.PROBLEM
    assert f"in use by process {os.getpid()} (" in finding.found


def test_a_free_port(taken: int) -> None:
    assert ports.listener_finding("http://127.0.0.1:0", "listeners", ports.refusal).level is Level.OK


def test_a_listener_that_is_none() -> None:
    assert ports.listener_finding("ftp://x", "listeners", ports.refusal).level is Level.PROBLEM


def test_sparks_ui(taken: int) -> None:
    def level(**spark: str) -> Level:
        return next(
            iter(ports.check_spark_ui(Subject(raw={f"spark.ui.{name}": text for name, text in spark.items()})))
        ).level

    assert level(port=str(taken)) is Level.WARNING
    assert level(port=str(taken), enabled="false") is Level.OK
    assert level(port="x") is Level.PROBLEM
