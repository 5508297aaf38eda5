# SPDX-License-Identifier: Apache-2.0
"""Java's dialect of regular expressions. The facts are those of `java.util.regex.Pattern`."""

from __future__ import annotations

import unicodedata

import pytest

from headrace.transforms._java_regex import JavaRegexError, compile_java_regex

MATCHES = [
    # quotes
    (r"\Qa.b\E", "a.b", "axb"),
    (r"\Qa.b\E+", "a.bb", "a.ba.b"),
    (r"[\Q^-]\E]+", "^-]", "a"),
    (r"a\Q(", "a(", "a"),
    # characters
    (r"\x41\u0042\x{43}\0104\cA\N{WHITE SMILING FACE}", "ABCD\x01☺", "ABCD"),
    (r"\t\e\a\f", "\t\x1b\a\f", " "),
    (r"a\/\-\_b", "a/-_b", "ab"),
    (r"a]}", "a]}", "a"),
    # line ends
    (".*", "ab", "a\nb"),
    (".", "\t", "\r"),
    (".", "a", "\u2028"),
    ("(?d).", "\r", "\n"),
    ("(?s).*", "a\nb", None),
    ("a$", "a", "a\nb"),
    (r"a\R", "a\r\n", "a"),
    ("(?m)^a$\n^b$", "a\nb", "ab"),
    # classes and sets
    (r"\w+\d\s", "ab1 ", "ö1 "),
    (r"\h\v\H\V", " \nab", "ab\n "),
    (r"\p{L}+", "größe", "1"),
    (r"\pL\PL", "a1", "1a"),
    (r"\p{Alpha}\p{Punct}\p{XDigit}", "a!F", "ä!F"),
    (r"\p{Lu}\p{IsLl}\p{gc=Nd}", "Äb٣", "äb1"),
    (r"\p{javaLowerCase}\p{IsAlphabetic}", "ßA", "AA"),
    (r"[\p{Lu}\d]+", "A1Ö", "a"),
    (r"(?i)\p{Upper}\p{Lu}", "aö", "öa"),
    ("[a-z&&[^aeiou]]+", "xyz", "xay"),
    ("[a-z&&b-y&&[^m]]+", "bcy", "bmy"),
    ("[a-d[m-p]]+", "amdp", "e"),
    ("[^a-d[m-p]]+", "xyz", "xm"),
    ("[^a&&[ab]]", "b", "a"),
    ("[]a]+", "]a", "b"),
    (r"[a-][\d-x]", "-x", "bb"),
    (r"[^\D]", "1", "a"),
    ("[a&b]+", "a&b", "c"),
    ("[[a-c]]", "b", "["),
    # flags
    ("(?i)ABC", "aBc", "abd"),
    ("(?i)ö", "ö", "Ö"),
    ("(?iu)ö", "Ö", "o"),
    ("a(?i)b|c", "C", "AB"),
    ("(?i:a)b", "Ab", "AB"),
    ("(?i)a(?-i)b", "Ab", "AB"),
    ("(a(?i)b)c", "aBc", "aBC"),
    ("(?x) a b # a comment\n c", "abc", "a b c"),
    # quantifiers, groups and references
    ("a{2}b{1,}c{0,1}", "aabb", "abb"),
    ("a++b", "aab", "ab!"),
    ("a*+a", None, "aa"),
    ("x{2,3}+", "xxx", "xxxx"),
    ("(?>a|ab)c", "ac", "abc"),
    (r"(?<n>a+)b\k<n>", "aabaa", "aaba"),
    (r"(a)\10", "aa0", "a"),
    (r"(a)\2", None, "aa"),
    ("(?=ab)a(?!c)b(?<=b)(?<!a)", "ab", "ac"),
    ("a(?<=x?a{1,2})b", "ab", "b"),
    ("^*a", "a", "^a"),
    (r"\Aab\z", "ab", "ab\n"),
    (r"ab\Z\n", "ab\n", "ab"),
]


@pytest.mark.parametrize(("pattern", "matching", "other"), MATCHES)
def test_as_java_matches(pattern: str, matching: str | None, other: str | None) -> None:
    compiled = compile_java_regex(pattern)
    assert matching is None or compiled.fullmatch(matching) is not None
    assert other is None or compiled.fullmatch(other) is None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "Unclosed group"),
        (")", "Unmatched closing"),
        ("a**", "Dangling meta character"),
        ("+", "Dangling meta character"),
        ("{", "Illegal repetition"),
        ("a{,3}", "Illegal repetition"),
        ("x{3,1}", "min repeat greater"),
        ("[a", "Unclosed character class"),
        ("[z-a]", "bad character range"),
        (r"\y", "escape sequence"),
        (r"\X", "escape sequence"),
        ("\\", "after a backslash"),
        (r"\x{110000}", "too big"),
        (r"\N{NO SUCH}", "Unknown character name"),
        (r"\p{InGreek}", "InGreek"),
        (r"\p{sc=Latin}", "sc=Latin"),
        (r"\b{g}", "not supported"),
        ("(?<=a+)b", "look-behind"),
        ("(?<1>a)", "group name"),
        ("(?<n>a)(?<n>b)", "already defined"),
        ("(?P<n>a)", "group name"),
        (r"\k<n>", "the name of a group"),
        (r"(?U)\w", "flag U"),
    ],
)
def test_what_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(JavaRegexError, match=message):
        compile_java_regex(pattern)


@pytest.mark.parametrize("category", ["L", "Lu", "Nd", "Cn", "Co", "Zs"])
def test_properties_are_those_of_unicode(category: str) -> None:
    matches = compile_java_regex(rf"\p{{{category}}}").fullmatch
    for code in [*range(0x3000), *range(0xD7F0, 0xE010), *range(0x1F000, 0x1F100), 0xE0FFF, 0xF0000, 0x10FFFF]:
        known = unicodedata.category(chr(code))
        if known != "Cn" or code == 0xE0FFF:  # the library's tables may be of a newer Unicode than Python's
            assert (matches(chr(code)) is not None) is known.startswith(category)
