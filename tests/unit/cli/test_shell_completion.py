# SPDX-License-Identifier: Apache-2.0
"""What bash is given to insert."""

from __future__ import annotations

import pytest

from headrace.cli.shell_completion import bash_completion


@pytest.mark.parametrize(
    ("value", "typed", "word", "inserted"),
    [
        ("orders", "or", "or", "orders"),
        ("it's", "it", "it", r"it\'s"),
        ("it's", "it", "'it", "it'\\''s"),
        ("it's", "it", '"it', "it's"),
        ('$a"b`', "", '"', r"\$a\"b\`"),
        ("a $b", "a", "a", r"a\ \$b"),
        ("ü", "", "", "ü"),
        ("co:lon", "co", "co", "co:lon"),
        ("co:lon", "co:", ":", "lon"),
        ("co:lon", "co:l", "l", "lon"),
        ("co:lon", "co:l", r"co\:l", "co:lon"),
        ("co:lon", "co:l", "'co:l", "co:lon"),
    ],
)
def test_a_word_of_bash(value: str, typed: str, word: str, inserted: str) -> None:
    assert bash_completion(value, typed, word) == inserted
