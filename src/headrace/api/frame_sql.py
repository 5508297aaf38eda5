# SPDX-License-Identifier: Apache-2.0
"""DataFrames from SQL in configurations, with functions refused that reach beyond the query's input.

Spark SQL can call Java methods, start programs and read any file that the worker may read. Such calls are looked for in
the trees that Spark makes of the text: in the parsed tree, since analysing a call of a method loads its class, and in
the analysed tree, where names are resolved. Both checks come before the optimizer, which may evaluate expressions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from headrace.api.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FUNCTIONS_ALLOWED: Final = "spark.sql.functions.allowed"
"""The worker's property that allows functions which are refused otherwise."""
REFUSED_FUNCTIONS: Final = {
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), "calls methods of Java's"),
    **dict.fromkeys(("from_protobuf", "to_protobuf"), "reads files and loads classes of Java's"),
    "from_avro": "reads files by its options",
    "schema_of_avro": "reads files by its options",
    "from_xml": "reads files by its option rowValidationXSDPath",
    "python_worker_logs": "reads what other connectors have logged",
}
"""Functions of Spark that reach beyond a batch, with the reason shown to the user."""

_REFLECTION: Final = ("reflect", "java_method", "try_reflect")
_EXPRESSIONS: Final = {
    "CallMethodViaReflection": _REFLECTION,
    "TryReflect": _REFLECTION,
    **dict.fromkeys(("FromProtobuf", "ProtobufDataToCatalyst"), ("from_protobuf",)),
    **dict.fromkeys(("ToProtobuf", "CatalystDataToProtobuf"), ("to_protobuf",)),
}
"""Classes of analysed expressions, with the functions that create them."""
_BY_OPTIONS: Final = {"XmlToStructs": ("from_xml", "rowvalidationxsdpath"), "AvroDataToCatalyst": ("from_avro", "url")}
"""Classes of analysed expressions, with the function and the option that is refused."""
_PLAIN_ARGUMENTS: Final = {"from_avro": 2, "schema_of_avro": 1}
"""The number of arguments that these functions have without options."""
_CLAUSES: Final = {
    "ScriptTransformation": "TRANSFORM … USING starts a program of the machine's",
    "ExpressionWithUnresolvedIdentifier": "IDENTIFIER(…) hides what is named: write the name itself",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER(…) hides what is named: write the name itself",
}
_CATALYST: Final = "org.apache.spark.sql.catalyst"
_CHECKED: Final = "_headrace_checked"
"""The attribute of a session that holds the texts which passed the check."""


def query_frame(session: SparkSession, query: str) -> DataFrame:
    """Return the DataFrame of a query, without running it. A session checks each text once.

    Raises:
        ConfigError: the query uses a function that is refused. Spark's own errors for bad SQL are raised unchanged.
    """
    checked: set[str] = vars(session).setdefault(_CHECKED, set())
    if query in checked:
        return session.sql(query)
    check_query(session, query)
    frame = session.sql(query)
    check_frame(frame)
    checked.add(query)
    return frame


def check_query(session: SparkSession, query: str) -> None:
    """Check a query as far as possible without its tables. Raises as `query_frame` does."""
    # Analysing a command runs it. The parser for queries refuses commands, with the position in its message.
    _check(session, _parser(session).parseQuery(query))


def filter_frame(frame: DataFrame, condition: str) -> DataFrame:
    """Return the rows for which a condition holds. Raises as `query_frame` does."""
    session = frame.sparkSession
    checked: set[str] = vars(session).setdefault(_CHECKED, set())
    if condition in checked:
        return frame.where(condition)
    _check(session, _parser(session).parseExpression(condition))
    result = frame.where(condition)
    check_frame(result)
    checked.add(condition)
    return result


def check_frame(frame: DataFrame) -> None:
    """Raise ConfigError if the analysed plan of a frame contains a function that users' SQL may not call."""
    java: Any = frame._jdf
    _check(frame.sparkSession, java.queryExecution().analyzed())


def _parser(session: Any) -> Any:
    return session._jsparkSession.sessionState().sqlParser()


def _check(session: SparkSession, tree: Any) -> None:
    jvm: Any = session._jvm
    given = session.sparkContext.getConf().get(FUNCTIONS_ALLOWED) or ""
    allowed = frozenset(name.strip().lower() for name in given.split(","))
    for node in _nodes(jvm, tree):
        kind = str(node.getClass().getSimpleName())
        if kind in _CLAUSES:
            raise ConfigError(f"{_CLAUSES[kind]}, which a query of a connector may not")
        refused = _named(kind, node) or _analysed(kind, node)
        if refused and not allowed.intersection(refused):
            name = refused[0]
            raise ConfigError(
                f"The function {name} {REFUSED_FUNCTIONS[name]}, which a query of a connector may not; the worker's "
                f"property {FUNCTIONS_ALLOWED}={name} would allow it"
            )


def _named(kind: str, node: Any) -> tuple[str, ...]:
    """Return the refused functions of a call that is parsed and not analysed yet."""
    if kind == "UnresolvedFunction":
        name, arguments = str(node.nameParts().last()).lower(), node.arguments().size()
    elif kind == "UnresolvedTableValuedFunction":
        name, arguments = str(node.name().last()).lower(), 0
    else:
        return ()
    # The options of from_xml are known only after analysis, which reads no file.
    plain = name == "from_xml" or (name in _PLAIN_ARGUMENTS and arguments <= _PLAIN_ARGUMENTS[name])
    return (name,) if name in REFUSED_FUNCTIONS and not plain else ()


def _analysed(kind: str, node: Any) -> tuple[str, ...]:
    """Return the refused functions that an analysed expression may come from."""
    if kind in _BY_OPTIONS:
        function, option = _BY_OPTIONS[kind]
        return (function,) if option in str(node.options().toString()).lower() else ()
    return _EXPRESSIONS.get(kind, ())


def _nodes(jvm: Any, tree: Any) -> Iterator[Any]:
    """Iterate over a tree's plans and expressions, those of subqueries and of replaced functions included."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        left += _listed(node.children())
        left += _listed(node.innerChildren())
        if _is(jvm, node, "plans.QueryPlan"):
            left += _listed(node.expressions())
        elif _is(jvm, node, "expressions.PlanExpression"):
            left.append(node.plan())
        elif _is(jvm, node, "expressions.RuntimeReplaceable"):
            left.append(node.replacement())


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _is(jvm: Any, node: Any, name: str) -> bool:
    return bool(jvm.py4j.reflection.TypeUtil.isInstanceOf(f"{_CATALYST}.{name}", node))
