# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.herder.connector_changes import ConnectorChanges

CHANGES = st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from([None, "1", "2"]), max_size=3), max_size=20)


def test_a_reader_gets_what_has_changed_and_then_nothing() -> None:
    changes = ConnectorChanges("f")
    assert changes.update({"a": "1", "b": "1"})
    first = changes.after("")
    assert (first.states, first.whole, first.position) == ({"a": "1", "b": "1"}, True, "f:1")
    assert changes.update({"a": "1", "b": "2"})
    assert changes.update({"a": "2"})
    found = changes.after(first.position)
    assert (found.states, found.whole) == ({"b": "2", "a": "2"}, False)
    assert list(found.states) == ["b", "a"], "in the order of their changes"
    assert changes.after(found.position).states == {}


def test_what_is_the_same_is_no_change() -> None:
    changes = ConnectorChanges("f")
    changes.update({"a": "1"})
    position = changes.position
    assert not changes.update({"a": "1", "never there": None})
    assert changes.position == position


def test_a_slow_reader_gets_the_newest_state_alone_and_costs_nothing() -> None:
    changes = ConnectorChanges("f")
    changes.update({"a": "0"})
    position = changes.position
    for number in range(10_000):
        changes.update({"a": str(number + 1)})
    assert changes.after(position).states == {"a": "10000"}


def test_a_connector_that_is_gone_is_none_until_it_is_there_again() -> None:
    changes = ConnectorChanges("f")
    changes.update({"a": "1"})
    position = changes.position
    changes.update({"a": None})
    assert changes.after(position).states == {"a": None}
    assert changes.after("").states == {}
    changes.update({"a": "2"})
    assert changes.after(position).states == {"a": "2"}


@pytest.mark.parametrize("position", ["", "e:1", "f:3", "f:-1", "f", "F:1", "f:1 ", "f:" + "9" * 30, "ü:1"])
def test_a_position_of_another_process_or_none_gets_all(position: str) -> None:
    changes = ConnectorChanges("f")
    changes.update({"a": "1"})
    changes.update({"b": "1"})
    found = changes.after(position)
    assert (found.states, found.whole) == ({"a": "1", "b": "1"}, True)


def test_a_reader_from_before_what_is_forgotten_gets_all() -> None:
    changes = ConnectorChanges("f", most_gone=2)
    changes.update({name: "1" for name in "abcd"})
    before = changes.position
    changes.update({"a": None})
    knows_a = changes.position
    changes.update({"b": None})
    assert not changes.after(before).whole
    changes.update({"c": None})
    assert changes.after(before).whole and changes.after(before).states == {"d": "1"}
    assert changes.after(knows_a).states == {"b": None, "c": None}


@given(CHANGES, st.integers(0, 20), st.integers(0, 3))
def test_states_and_changes_together_are_the_states(made: list[dict[str, str | None]], read: int, kept: int) -> None:
    """Whenever a reader comes, and comes again: what it knows is then what there is."""
    changes = ConnectorChanges("f", kept)
    truth: dict[str, str | None] = {}
    known: dict[str, str | None] = {}
    position = ""
    for number, each in enumerate([*made, {}]):
        changes.update(each)
        truth |= each
        if number >= read or number == len(made):
            found = changes.after(position)
            known = {**({} if found.whole else known), **found.states}
            position = found.position
            assert {name: state for name, state in known.items() if state} == {k: v for k, v in truth.items() if v}
