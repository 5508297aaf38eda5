# SPDX-License-Identifier: Apache-2.0
"""What is refused in trees that a fake Spark makes. Those of the real one are in tests/security/test_spark_sql.py."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.api.frame_sql import check_query, query_frame


class Listed:
    """A Scala sequence."""

    def __init__(self, items: Sequence[Any] = ()) -> None:
        self._items = items

    def size(self) -> int:
        return len(self._items)

    def apply(self, index: int) -> Any:
        return self._items[index]

    def last(self) -> Any:
        return self._items[-1]


class Node:
    """Of a tree of Catalyst's: `kind` is its class, `of` the classes that it is one of beside."""

    def __init__(self, kind: str, *children: Node, of: str = "", **fields: Any) -> None:
        self.kind, self.of = kind, of
        self.children = lambda: Listed(children)
        self.innerChildren = Listed
        for name, value in fields.items():
            setattr(self, name, lambda value=value: value)

    def getClass(self) -> Any:
        return SimpleNamespace(getSimpleName=lambda: self.kind)


def call(*name: str, arguments: int = 0) -> Node:
    return Node("UnresolvedFunction", nameParts=Listed(name), arguments=Listed([None] * arguments))


def plan(*expressions: Node) -> Node:
    return Node("Project", of="plans.QueryPlan", expressions=Listed(expressions))


def of_xml(options: str) -> Node:
    return plan(Node("XmlToStructs", options=options and SimpleNamespace(toString=lambda: options)))


class Session:
    def __init__(self, parsed: Node, analysed: Node | None = None, allowed: str | None = None) -> None:
        self.parsed = self.analysed = 0

        def parse(text: str) -> Node:
            self.parsed += 1
            return parsed

        def analyse() -> Node | None:
            self.analysed += 1
            return analysed

        state = SimpleNamespace(sqlParser=lambda: SimpleNamespace(parseQuery=parse))
        self._jsparkSession = SimpleNamespace(sessionState=lambda: state)
        util = SimpleNamespace(isInstanceOf=lambda name, node: bool(node.of) and name.endswith(node.of))
        self._jvm = SimpleNamespace(py4j=SimpleNamespace(reflection=SimpleNamespace(TypeUtil=util)))
        self.sparkContext = SimpleNamespace(getConf=lambda: {"spark.sql.functions.allowed": allowed})
        self._frame = SimpleNamespace(
            sparkSession=self, _jdf=SimpleNamespace(queryExecution=lambda: SimpleNamespace(analyzed=analyse))
        )

    def sql(self, query: str) -> Any:
        return self._frame


def refused(parsed: Node, analysed: Node | None = None, allowed: str | None = None) -> bool:
    try:
        query_frame(Session(parsed, analysed or plan(), allowed), "SELECT 1")  # type: ignore[arg-type]
    except ConfigError:
        return True
    return False


@pytest.mark.parametrize(
    "name", [("reflect",), ("Java_Method",), ("system", "builtin", "TRY_REFLECT"), ("from_protobuf",)]
)
def test_calls_are_refused_by_their_names_before_they_are_analysed(name: Sequence[str]) -> None:
    session: Any = Session(plan(call("upper"), call(*name)))
    with pytest.raises(ConfigError, match=f"The function {name[-1].lower()} .* spark.sql.functions.allowed="):
        query_frame(session, "SELECT 1")
    assert session.analysed == 0


def test_what_hides_behind_other_names_is_found_when_it_is_analysed() -> None:
    hidden = Node("CallMethodViaReflection")
    assert refused(plan(call("mine")), plan(Node("Nvl", of="expressions.RuntimeReplaceable", replacement=hidden)))
    assert refused(plan(), plan(Node("ScalarSubquery", of="expressions.PlanExpression", plan=plan(hidden))))
    assert not refused(plan(call("mine")), plan(Node("Upper")))


def test_single_functions_can_be_allowed() -> None:
    analysed = plan(Node("CallMethodViaReflection"))
    assert not refused(plan(call("reflect")), analysed, allowed="from_xml, REFLECT")
    assert refused(plan(call("java_method")), analysed, allowed="reflect")


def test_options_that_name_files() -> None:
    assert refused(plan(call("from_xml")), of_xml("Map(RowValidationXsdPath -> /etc/passwd)"))
    assert not refused(plan(call("from_xml", arguments=3)), of_xml("Map(mode -> PERMISSIVE)"))
    assert refused(plan(call("from_avro", arguments=3)))
    assert not refused(plan(call("from_avro", arguments=2)))


@pytest.mark.parametrize("clause", ["ScriptTransformation", "ExpressionWithUnresolvedIdentifier"])
def test_clauses_that_nothing_allows(clause: str) -> None:
    assert refused(Node(clause, of="plans.QueryPlan", expressions=Listed()), allowed=clause)


def test_a_session_looks_at_a_text_once() -> None:
    session: Any = Session(plan(), plan())
    for query in ("SELECT 1", "SELECT 1", "SELECT 2"):
        query_frame(session, query)
    assert (session.parsed, session.analysed) == (2, 2)
    check_query(session, "SELECT 1")
    assert (session.parsed, session.analysed) == (3, 2)
