# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, ClassVar

import pytest

from headrace.api.errors import ConfigError, DataError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.transform import PartTransformation, RecordPart, Transformation
from headrace.config.connector_config import ConnectorConfig
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import Operation, Stage
from headrace.task.errors.retry_with_tolerance import ToleranceExceededError
from headrace.task.transformation_chain import TransformationChain, TransformationStage, create_transformation_chain
from tests.unit.task import support_plugins

MODULE = support_plugins.__name__


@pytest.fixture
def chain(plugins: Plugins, errors: Any) -> Any:
    def make(*, handling: Any = None, **more: str) -> TransformationChain[Any, Any]:
        config = {
            "name": "c",
            "connector.class": "C",
            "transforms": "one, two",
            "transforms.one.type": f"{MODULE}.Suffix",
            "transforms.one.suffix": "1",
            "transforms.two.type": f"{MODULE}.Suffix",
            "transforms.two.suffix": "2",
        }
        config |= {key.replace("__", "."): text for key, text in more.items()}
        return create_transformation_chain(
            ConnectorConfig(config), plugins, errors(**(handling or {"tolerates": False}))
        )

    return make


def applied(chain: TransformationChain[Any, Any], *records: SourceRecord) -> list[Any]:
    return [record and record.value for record in chain.apply_all(records, records)]


SHORT = {"predicates": "short", "predicates__short__type": f"{MODULE}.Short", "predicates__short__length": "3"}


def test_stages_apply_in_order(chain: Any, record: Any) -> None:
    assert applied(chain(), record("v"), record("w")) == ["v12", "w12"]
    assert not chain(transforms="")
    assert applied(chain(transforms=""), record("v")) == ["v"]
    assert chain()


def test_a_dropped_record_meets_no_later_stage(chain: Any, record: Any) -> None:
    assert applied(chain(), record("drop"), record("v")) == [None, "v12"]


@pytest.mark.parametrize(("negate", "short", "long"), [("false", "v12", "long2"), ("True", "v2", "long12")])
def test_a_predicate_decides(chain: Any, record: Any, negate: str, short: str, long: str) -> None:
    made = chain(transforms__one__predicate="short", transforms__one__negate=negate, **SHORT)
    assert applied(made, record("v"), record("long")) == [short, long]


def test_each_is_closed_once(chain: Any) -> None:
    support_plugins.closed.clear()
    both = {"transforms__one__predicate": "short", "transforms__two__predicate": "short"}
    support_plugins.Short.made = 0
    chain(**both, **SHORT).close()
    assert support_plugins.closed == ["suffix 1", "predicate", "suffix 2", "predicate"]
    assert support_plugins.Short.made == 2


def test_an_error_names_the_transformation_and_the_record(chain: Any, record: Any) -> None:
    expected = (
        rf"^TRANSFORMATION one \({MODULE}.Suffix\) failed for the record of topic t with source partition "
        r"{'p': 'p'} and offset {'n': 7}: ZeroDivisionError: oh\. To set such records aside, set errors.tolerance=all"
    )
    with pytest.raises(ToleranceExceededError, match=expected) as raised:
        applied(chain(), record("bad", 7))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(ToleranceExceededError, match="not that one") as raised:
        applied(chain(), record("refused"))
    assert isinstance(raised.value.__cause__, DataError)


def test_the_others_of_a_batch_go_on(chain: Any, record: Any, errors: Any) -> None:
    records = [record("a", 1), record("bad", 2), record("refused", 3), record("b", 4)]
    assert applied(chain(handling={"tolerates": True}), *records) == ["a12", None, None, "b12"]
    assert [(c.original, c.operation.alias) for c in errors.reported] == [(records[1], "one"), (records[2], "one")]


def test_a_configuration_that_cannot_be(chain: Any) -> None:
    with pytest.raises(ConfigError, match=r"transforms\.one\.predicate: no such predicate"):
        chain(transforms__one__predicate="other", **SHORT)
    with pytest.raises(ConfigError, match=r"transforms\.three\.type"):
        chain(transforms="three")
    with pytest.raises(ConfigError, match=r"transforms\.one\.type"):
        chain(transforms__one__type="no.such.Transform")
    with pytest.raises(ConfigError, match=r"^Invalid value 'x' for configuration transforms\.one\.limit: too much$"):
        chain(transforms__one__type=f"{MODULE}.Strict")


# ---- fused neighbours


class Adds(PartTransformation[SourceRecord]):
    """Adds its name to a value or key, after the errors that it was made with."""

    part = RecordPart.VALUE

    def __init__(self, name: str, *errors: Exception) -> None:
        self.name, self.errors, self.seen = name, list(errors), []

    def apply_to(self, record: SourceRecord, schema: Any, value: Any) -> Any:
        self.seen.append(value)
        if self.errors:
            raise self.errors.pop(0)
        return schema, value + self.name


class AddsToKey(Adds):
    part: ClassVar[RecordPart] = RecordPart.KEY


class Whole(Transformation[SourceRecord]):
    """Changes a value as a whole-record transformation does."""

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record.replace(value=record.value + "w")


class Own(Adds):
    """Does more than its part: it drops `ab`."""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        return None if record.value == "ab" else super().apply(record)


def of(errors: Any, *transformations: Transformation[Any]) -> TransformationChain[Any, Any]:
    stages = [
        TransformationStage(Operation(Stage.TRANSFORMATION, type(each).__name__, f"n{place}"), each)
        for place, each in enumerate(transformations)
    ]
    return TransformationChain(stages, errors)


def test_neighbours_of_one_part_make_one_record(record: Any, errors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = of(errors(), Adds("1"), Adds("2"), Whole(), AddsToKey("3"), AddsToKey("4"), Adds("5"))
    copies = [0]
    copy = SourceRecord._copy

    def counted(self: SourceRecord) -> SourceRecord:
        copies[0] += 1
        return copy(self)

    monkeypatch.setattr(SourceRecord, "_copy", counted)
    [result] = made.apply_all([record("v", key="k")], [record("v")])
    assert result is not None
    assert (result.key, result.value) == ("k34", "v12w5")
    assert copies == [4]  # one of each group, and that of Whole itself


def test_one_with_an_apply_of_its_own_is_not_fused(record: Any, errors: Any) -> None:
    assert applied(of(errors(), Adds("b"), Own("c")), record("a"), record("x")) == [None, "xbc"]


@pytest.mark.parametrize("kind", [Adds, AddsToKey])
def test_no_stage_sees_a_record_twice_but_the_one_that_asked_for_it(kind: Any, record: Any, errors: Any) -> None:
    first, second, third = kind("1"), kind("2", RetriableError("not now"), RetriableError("not yet")), kind("3")
    chain = of(errors(retry_timeout=60), first, second, third)
    [result] = chain.apply_all([record("v", key="v")], [record("v")])
    assert result is not None
    assert (result.key, result.value) == (("v", "v123") if kind is Adds else ("v123", "v"))
    assert (first.seen, second.seen, third.seen) == (["v"], ["v1"] * 3, ["v12"])
    assert errors.waited == [0.3, 0.6]


def test_a_later_stage_may_fail_after_one_was_tried_again(record: Any, errors: Any) -> None:
    third = Adds("3", DataError("bad"))
    made = of(errors(retry_timeout=60), Adds("1", RetriableError("not now")), Whole(), third, Adds("4"))
    polled = [record("v"), record("w")]
    assert applied(made, *polled) == [None, "w1w34"]
    assert [(c.original, c.operation.alias, c.attempt) for c in errors.reported] == [(polled[0], "n2", 1)]


def test_stages_that_share_a_function_are_distinguished(record: Any, errors: Any) -> None:
    def fails_on_two(record: SourceRecord, schema: Any, value: Any) -> Any:
        if value == "v..":
            raise DataError("two")
        return schema, value + "."

    stages = [Adds(""), Adds(""), Adds("")]
    for stage in stages:
        stage.apply_to = fails_on_two  # type: ignore[method-assign]
    assert applied(of(errors(), *stages), record("v")) == [None]
    assert [c.operation.alias for c in errors.reported] == ["n2"]


def test_the_original_record_is_reported(record: Any, errors: Any) -> None:
    originals = [object(), object()]
    of(errors(), Adds("1"), Adds("2", DataError("x"))).apply_all([record("v"), record("w")], originals)
    assert [c.original for c in errors.reported] == originals[:1]


def test_a_run_that_is_not_the_first_knows_its_stages(record: Any, errors: Any) -> None:
    last = Adds("3", RetriableError("not now"))
    assert applied(of(errors(retry_timeout=60), Whole(), Whole(), Adds("1"), last, Adds("4")), record("v")) == [
        "vww134"
    ]
    assert last.seen == ["vww1"] * 2
