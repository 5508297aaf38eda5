# SPDX-License-Identifier: Apache-2.0
"""Lines about a connector: which ones they are, and what requests may say."""

from __future__ import annotations

import pytest

from headrace.herder.connector_logs import LogQuery, is_about, is_about_task
from headrace.herder.errors import BadRequestError
from headrace.logs import audit
from headrace.logs.log_ring import LogLine


def line(context: str, message: str = "", logger: str = "l") -> LogLine:
    return LogLine(1, 0, "INFO", logger, context, message, None)


@pytest.mark.parametrize("context", ["[a|worker] ", "[a|task-0] ", "[a|task-12] "])
def test_lines_with_the_connectors_context(context: str) -> None:
    assert is_about("a")(line(context))


@pytest.mark.parametrize(
    "context", ["[b|worker] ", "[a-0|worker] ", "[a|task-0|worker] ", "[a|task-x] ", "[aa|task-0] "]
)
def test_lines_with_the_context_of_others(context: str) -> None:
    assert not is_about("a")(line(context, "Connector a failed"))


@pytest.mark.parametrize(
    "message",
    [
        "Connector a is gone",
        "ann restarts connector a.",
        "Tasks a-0, a-1",
        "task a-12: x",
        "connector 'a'",
        "Connector a",
    ],
)
def test_lines_without_context_that_name_it(message: str) -> None:
    assert is_about("a")(line("", message))


@pytest.mark.parametrize(
    "message",
    ["Connector b", "a", "Connector a-0", "Connector a.b", "Connector ab", "Task a-0-1", "task a-b", "reconnector a"],
)
def test_lines_without_context_that_name_others(message: str) -> None:
    assert not is_about("a")(line("", message))


@pytest.mark.parametrize("name", ["a", "a b", 'a "b" connector=c', "a" * 200])
def test_audit_lines_about_requests_for_it(name: str) -> None:
    fields = {"who": "emil", "what": f"PUT /connectors/{name}/pause", "connector": audit.cut(name), "result": "202"}
    assert is_about(name)(line("", audit.line(fields), audit.AUDIT))
    assert not is_about(name)(line("", audit.line(fields), "l"))
    assert not is_about("c")(line("", audit.line(fields), audit.AUDIT))


def test_an_audit_line_that_only_quotes_it_is_about_another() -> None:
    fields = {"who": "emil", "connector": "b", "result": "400", "reason": "no connector=a here"}
    assert not is_about("a")(line("", audit.line(fields), audit.AUDIT))
    assert not is_about("a")(line("", audit.line({"who": 'x" connector=a y="', "connector": "b"}), audit.AUDIT))


def test_one_task_alone() -> None:
    about = is_about_task("a", 1)
    assert about(line("[a|task-1] ")) and not about(line("[a|task-11] ")) and not about(line("[a|worker] "))


def test_a_query_has_positions_by_worker_and_a_level() -> None:
    query = LogQuery.checked("c", "10.0.0.5:8083=19b:17,[::1]:8083=a:0", 10, "warning", None)
    assert query.after == {"10.0.0.5:8083": "19b:17", "[::1]:8083": "a:0"} and query.level == "WARN"
    assert LogQuery(**query.to_json()) == query


@pytest.mark.parametrize(
    ("after", "level"), [("x", "ALL"), ("w=1", "ALL"), ("=a:1", "ALL"), ("w=a:b", "ALL"), ("", "loud")]
)
def test_other_texts_are_refused(after: str, level: str) -> None:
    with pytest.raises(BadRequestError):
        LogQuery.checked("c", after, 10, level, None)
