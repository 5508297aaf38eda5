# SPDX-License-Identifier: Apache-2.0
"""Warnings of properties without effect; those of whole configurations are in ``test_validate``."""

from __future__ import annotations

from headrace.herder.unknown_keys import unknown_keys

KNOWN = frozenset({"name", "tasks.max"})
CONFIG = {"name": "c", "task.max": "1", "mood": "good", "transforms.x.type": "Filter"}


def test_what_no_definition_has() -> None:
    assert list(unknown_keys(CONFIG, KNOWN)) == [
        "task.max: no such property; did you mean 'tasks.max'?",
        "mood: nothing defines this property",
        "transforms.x.type: transforms does not list 'x'",
    ]


def test_a_property_below_another_is_no_misspelling_of_it() -> None:
    config = {"name": "c", "sink.catalog.type": "rest", "sink.catalogs": "c"}
    assert list(unknown_keys(config, KNOWN | {"sink.catalog"})) == [
        "sink.catalog.type: nothing defines this property",
        "sink.catalogs: no such property; did you mean 'sink.catalog'?",
    ]


def test_a_connector_that_does_not_say_what_it_reads() -> None:
    assert list(unknown_keys(CONFIG, KNOWN, complete=False)) == [
        "task.max: did you mean 'tasks.max'? The connector does not say which properties it reads",
        "transforms.x.type: transforms does not list 'x'",
    ]
