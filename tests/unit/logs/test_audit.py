# SPDX-License-Identifier: Apache-2.0
"""The texts of the audit: fields that nothing can forge, short lists of work, differences of configurations."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from headrace.logs import audit
from headrace.logs.context import CONTEXT, log_context
from headrace.logs.formats import JSON, TEXT, formatter
from headrace.model.ids import ConnectorTaskId


def tasks(name: str, *numbers: int) -> list[ConnectorTaskId]:
    return [ConnectorTaskId(name, number) for number in numbers]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("emil", "emil"),
        ("127.0.0.1:8083", "127.0.0.1:8083"),
        ("größe", "größe"),
        ("", '""'),
        ("a b", '"a b"'),
        ("a=b", '"a=b"'),
        ('say "x"', r'"say \"x\""'),
        ("a\\b", r'"a\\b"'),
        ("a\nwho=root", r'"a\nwho=root"'),
        ("\x1b[2J\x85\u2028\u202e", r'"\u001b[2J\x85\u2028\u202e"'),
        ("\ud800", r'"\\ud800"'),
    ],
)
def test_a_value_cannot_forge_a_field_or_a_line(text: str, shown: str) -> None:
    assert audit.line({"who": text, "by": None, "result": "200"}) == f"audit who={shown} result=200"


@pytest.mark.parametrize(
    ("connectors", "ids", "shown"),
    [
        ("", [], "nothing"),
        ("c", tasks("c", 0, 1), "c, c-0, c-1"),
        ("", tasks("c", 7), "c-7"),
        ("c", tasks("c", *range(500)), "c, c-0..c-499"),
        ("", tasks("c", 0, 1, 2, 3, 5, 9, 10), "c-0..c-3, c-5, c-9..c-10"),
        ("", tasks("c", *range(0, 1000, 2)), "500 of c-0..c-998"),
        ("ab", [*tasks("b", 0), *tasks("a", 1)], "a, a-1, b, b-0"),
    ],
)
def test_connectors_and_tasks_are_one_short_text(connectors: str, ids: list[ConnectorTaskId], shown: str) -> None:
    assert audit.work_text(connectors, ids) == shown


def test_what_is_too_much_to_list_is_counted() -> None:
    names = [f"connector-{number:03}" for number in range(400)]
    text = audit.work_text(names, [ConnectorTaskId(name, 0) for name in names])
    assert text.startswith("connector-000, connector-000-0, ") and len(text) < 300
    assert text.endswith(", … (in all 400 connectors and 400 tasks)")


def test_names_of_connectors_cannot_forge_others() -> None:
    assert audit.work_text(["a, b"], tasks("a → b", 0)) == '"a → b-0", "a, b"'
    long = audit.work_text([], tasks("x" * 4000, 12))
    assert len(long) < 130 and "-12" in long, "the number is there, whatever the name"


def test_a_difference_has_what_was_added_removed_and_changed() -> None:
    before = {"tasks.max": "1", "batch": "5", "same": "x", "gone": None}
    after = {"tasks.max": "2", "topic": "t", "same": "x", "batch": None}
    shown = audit.difference(before, after, lambda name, text: text)
    assert shown == "batch: 5 → null; -gone; tasks.max: 1 → 2; +topic: t"
    assert audit.difference(after, after, lambda name, text: text) == "nothing"


def test_a_difference_that_is_masked_is_called_changed() -> None:
    before, after = {"p": "swordfish", "q": "${file:/f:q}"}, {"p": "trout", "q": "pike", "r": "eel"}
    shown = audit.difference(before, after, lambda name, text: text if "$" in text else "****")
    assert shown == "p: changed; q: ${file:/f:q} → ****; +r: ****"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("a", "1; -b", '+a: "1; -b"'),
        ("a", "1 → 2", '+a: "1 → 2"'),
        ("a", "x\ny", r'+a: "x\ny"'),
        ("a", "", '+a: ""'),
        ("a: 1; b", "2", '+"a: 1; b": 2'),
        ("sql", "select a, b from t", "+sql: select a, b from t"),
        ("long", "v" * 150, f"+long: {'v' * 100}… (50 more)"),
    ],
)
def test_keys_and_values_cannot_forge_other_changes(key: str, value: str, shown: str) -> None:
    assert audit.difference({}, {key: value}, lambda name, text: text) == shown


def test_a_difference_of_very_many_properties_is_cut() -> None:
    shown = audit.difference({}, {f"k{number:04}": "v" for number in range(1000)}, lambda name, text: text)
    assert shown.endswith("; +k0049: v; … (950 more)")


def test_a_line_of_the_leaders_own_has_its_reason_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, audit.AUDIT):
        audit.write_own(audit.LEADER, "w:1", "session key", reason="boom\n  at f\n", failed=True)
        audit.write_own(audit.ENGINE, "w:1", "restart of c-0", connector="c", reason="it died " + "x" * 300)
    assert caplog.messages == [
        'audit who=leader worker=w:1 what="session key" result=failed reason=boom',
        'audit who=engine worker=w:1 what="restart of c-0" connector=c result=done '
        f'reason="it died {"x" * 192}… (108 more)"',
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"who": "emil", "what": "PUT /connectors/c/pause", "result": "202"},
        {"who": 'a "b" c=d', "change": "x: 1 → 2; y\\n", "reason": "control \x1b and \u2028"},
    ],
)
def test_a_line_is_read_as_it_was_written(fields: dict[str, str]) -> None:
    found = audit.fields_of(audit.line(fields))
    assert found is not None and found.keys() == fields.keys()
    if "\x1b" not in str(fields.get("reason")):
        assert found == fields


@pytest.mark.parametrize("text", ["", "audit", "audit who", 'audit who="a" x', "the audit who=a", 'audit who="a'])
def test_other_texts_are_no_lines(text: str) -> None:
    assert audit.fields_of(text) is None


def test_a_name_that_is_cut_is_known() -> None:
    assert audit.is_cut(audit.cut("x" * 101)) and not audit.is_cut(audit.cut("x" * 100))


def test_the_logger_that_is_off_writes_only_what_was_begun(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, audit.AUDIT)
    caplog.handler.setLevel(logging.NOTSET)
    audit.write({"who": "a"})
    audit.write({"who": "b"}, always=True)
    assert caplog.messages == ["audit who=b"]


@pytest.mark.parametrize("name", [TEXT, JSON])
def test_in_both_formats_a_line_is_one_line_without_a_context(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(formatter(name))
    handler.addFilter(CONTEXT)
    audit.log.addHandler(handler)
    try:
        with log_context("c"):
            audit.write({"who": "x\nwho=root\u2028"}, always=True)
    finally:
        audit.log.removeHandler(handler)
    shown = capsys.readouterr().out.rstrip("\n")
    message = r'audit who="x\nwho=root\u2028"'
    if name == JSON:
        line = json.loads(shown)
        assert (line["logger"], line["level"], line["message"]) == (audit.AUDIT, "INFO", message)
        assert "connector.context" not in line
    else:
        assert shown.endswith(f"] INFO {message}")
    assert len(shown.splitlines()) == 1
