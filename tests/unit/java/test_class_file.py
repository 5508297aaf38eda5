# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.java.class_file import read_class
from tests.unit.jars import ABSTRACT, INTERFACE, PRIVATE, PUBLIC, SOURCE, class_file


def test_names_and_parents() -> None:
    read = read_class(class_file("a.B$C", SOURCE, ["x.Y", "java.io.Closeable"]))
    assert read.name == "a/B$C"
    assert read.parents == ("org/apache/kafka/connect/source/SourceConnector", "x/Y", "java/io/Closeable")
    assert read.usable


@pytest.mark.parametrize("flags", [PUBLIC | ABSTRACT, PUBLIC | ABSTRACT | INTERFACE, 0])
def test_no_instance_of_abstract_classes_interfaces_and_private_classes(flags: int) -> None:
    assert not read_class(class_file("a.B", SOURCE, flags=flags)).usable


@pytest.mark.parametrize("constructors", [{}, {"()V": PRIVATE}, {"(I)V": PUBLIC}])
def test_no_instance_without_a_public_constructor_of_no_arguments(constructors: dict[str, int]) -> None:
    assert not read_class(class_file("a.B", SOURCE, constructors=constructors)).usable


def test_one_of_several_constructors() -> None:
    assert read_class(class_file("a.B", SOURCE, constructors={"(I)V": PUBLIC, "()V": PUBLIC})).usable


def test_what_is_no_class_file() -> None:
    with pytest.raises(ValueError, match="no class file"):
        read_class(b"PK\x03\x04")
    whole = class_file("a.B", SOURCE)
    for end in range(4, len(whole) - 10):
        try:
            read_class(whole[:end])
        except ValueError:
            continue
        assert end > len(whole) - 60, end  # what follows the constructors is not read


@given(st.integers(0), st.binary(min_size=1, max_size=4))
def test_damaged_files_raise_nothing_else(position: int, damage: bytes) -> None:
    whole = class_file("a.B", SOURCE, ["x.Y"])
    position %= len(whole)
    with suppress(ValueError):
        read_class(whole[:position] + damage + whole[position + len(damage) :])
