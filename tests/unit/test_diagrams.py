# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from headrace.kafka.data import transactional_producer
from headrace.kafka.data.transactional_producer import TRANSITIONS, ProducerState
from scripts.diagrams import PAGE, diagrams, updated


def test_the_page_shows_the_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- diagram: ([\w-]+) -->", page)) == set(diagrams())
    assert updated(page) == page, "run `make diagrams`"


def test_a_move_that_is_new_is_a_stale_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = {**TRANSITIONS, ProducerState.CLOSED: frozenset({ProducerState.NEW})}
    monkeypatch.setattr(transactional_producer, "TRANSITIONS", table)
    assert "CLOSED --> NEW" in updated(page) != page
