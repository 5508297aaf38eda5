# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64

from headrace.inspection.preview.hidden_values import HiddenValues
from headrace.inspection.readable_json import ReadableJson


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def test_values_are_hidden_in_texts_keys_and_bytes() -> None:
    hidden = HiddenValues(["s3cret", 'qu"ote', "no"])
    assert hidden.hide({"a s3cret": ["is s3cret", 7, None], "no": "no"}) == {
        "a [hidden]": ["is [hidden]", 7, None],
        "no": "no",
    }
    assert hidden.hide(encoded(b"\xff a s3cret")) == encoded(b"\xff a [hidden]")
    assert hidden.hide(encoded(b'{"a":"qu\\"ote"}')) == encoded(b'{"a":"[hidden]"}')
    assert hidden.hide(encoded(b"\xff nothing")) == encoded(b"\xff nothing")


def test_the_longest_value_is_hidden_first_and_none_is_nothing() -> None:
    assert HiddenValues(["word", "password"]).hide("password") == "[hidden]"
    assert HiddenValues([]).hide({"a": "word"}) == {"a": "word"}


def test_what_is_left_of_values_in_shortened_texts() -> None:
    shortened = ReadableJson(12).value("with s3cret-word in it")
    assert shortened == "with s3cret-… (22 characters)"
    assert HiddenValues(["s3cret-word"]).hide(shortened) == "with [hidden]… (22 characters)"
    assert HiddenValues(["s3cret-word"]).hide([ReadableJson(16).bytes(b"with s3cret-word")]) == [
        encoded(b"with [hidden]")
    ]
