# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import traceback
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.plugins.discovery import Plugins
from headrace.task.transformation_chain import TransformationChain, transformation_chain
from tests.unit.task import support_plugins

MODULE = support_plugins.__name__


def chain(plugins: Plugins, **more: str) -> TransformationChain:
    config = {
        "transforms": "one, two",
        "transforms.one.type": f"{MODULE}.Suffix",
        "transforms.one.suffix": "1",
        "transforms.two.type": f"{MODULE}.Suffix",
        "transforms.two.suffix": "2",
    }
    return transformation_chain({**config, **{k.replace("__", "."): v for k, v in more.items()}}, plugins)


SHORT = {"predicates": "short", "predicates__short__type": f"{MODULE}.Short", "predicates__short__length": "3"}


def test_stages_apply_in_order(plugins: Plugins, record: Any) -> None:
    assert chain(plugins).apply(record("v")).value == "v12"
    assert not transformation_chain({}, plugins)
    assert chain(plugins)


def test_a_dropped_record_meets_no_later_stage(plugins: Plugins, record: Any) -> None:
    assert chain(plugins).apply(record("drop")) is None


@pytest.mark.parametrize(("negate", "short", "long"), [("false", "v12", "long2"), ("True", "v2", "long12")])
def test_a_predicate_decides(plugins: Plugins, record: Any, negate: str, short: str, long: str) -> None:
    made = chain(plugins, transforms__one__predicate="short", transforms__one__negate=negate, **SHORT)
    assert made.apply(record("v")).value == short
    assert made.apply(record("long")).value == long


def test_each_is_closed_once(plugins: Plugins) -> None:
    support_plugins.closed.clear()
    both = {"transforms__one__predicate": "short", "transforms__two__predicate": "short"}
    support_plugins.Short.made = 0
    chain(plugins, **both, **SHORT).close()
    assert support_plugins.closed == ["suffix 1", "predicate", "suffix 2", "predicate"]
    assert support_plugins.Short.made == 2


def test_an_error_names_the_transformation_and_the_record(plugins: Plugins, record: Any) -> None:
    with pytest.raises(ConnectError, match=r"transformation one failed .*topic t .*{'n': 7}: ZeroDivisionError: oh"):
        chain(plugins).apply(record("bad", 7))
    with pytest.raises(DataError, match="not that one") as raised:
        chain(plugins).apply(record("refused"))
    assert "in transformation one" in "".join(traceback.format_exception(raised.value))


def test_a_configuration_that_cannot_be(plugins: Plugins) -> None:
    with pytest.raises(ConfigError, match=r"transforms\.one\.predicate: `predicates` does not list it"):
        chain(plugins, transforms__one__predicate="other", **SHORT)
    with pytest.raises(ConfigError, match=r"transforms\.three\.type: it names the class"):
        chain(plugins, transforms="three")
    with pytest.raises(ConfigError, match=r"transforms\.one\.type"):
        chain(plugins, transforms__one__type="no.such.Transform")
