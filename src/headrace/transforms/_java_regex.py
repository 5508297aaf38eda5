# SPDX-License-Identifier: Apache-2.0
"""Java's regular expressions (`java.util.regex`), translated for the library `regex`, and Java's replacement texts.

Most of the two dialects is the same: groups, quantifiers, where flags end, sets such as `[a-z&&[^aeiou]]`. What is not
is said in the library's way: quotes `\\Q..\\E`, escapes, line ends, and that `\\w`, `\\b` and the flag `i` without `u`
are of ASCII's letters. The rest is refused: scripts and blocks (`\\p{IsGreek}`, `\\p{InGreek}`), `\\X`, `\\b{g}`, and
looking behind for a text of no greatest length.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

import regex

from headrace.api.errors import ConfigError, DataError
from headrace.api.validators import LambdaValidator, Validator
from headrace.transforms._java_regex_sets import CLASSES, IN_ANY_CASE, VERTICAL, SetSyntaxError, property_set

_LINE_ENDS: Final = r"\n\r\x85\u2028\u2029"
_BEFORE_LAST_LINE_END: Final = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)"
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)
_BLANKS: Final = re.compile(r"(?:[ \t\n\x0b\f\r]|#[^\n\r\x85\u2028\u2029]*)*")
_QUANTIFIER: Final = re.compile(r"(?:[?*+]|\{[0-9]+(?:,[0-9]*)?\})[?+]?")
_UNBOUNDED: Final = re.compile(r"[*+]|\{[0-9]+,\}")
_NAME: Final = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)>")
_GROUP: Final = re.compile(rf"\((?!\?)|\(\?(?:[:=!>]|<[=!]|{_NAME.pattern})")
_FLAGS: Final = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_CODE: Final = re.compile(
    r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|0([0-3][0-7]{2}|[0-7]{1,2})|c(.)|N\{([^}]*)\}",
    re.DOTALL,
)
_PROPERTY: Final = re.compile(r"[pP](?:\{([^}]*)\}|(.))", re.DOTALL)

_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ANCHORS: Final = {"A": r"\A", "G": r"\A", "z": r"\Z", "Z": _BEFORE_LAST_LINE_END, "b": r"(?a:\b)", "B": r"(?a:\B)"}


class JavaRegexError(ValueError):
    """The pattern is not one of Java's, or says what the library cannot."""


def compile_java_regex(pattern: str) -> regex.Pattern[str]:
    """Return the pattern in the library's dialect, for `fullmatch` and `search`. JavaRegexError if it cannot be."""
    try:
        return regex.compile(_Translator(_without_quotes(pattern)).translate(), regex.VERSION1)
    except (regex.error, OverflowError, RecursionError) as error:
        raise JavaRegexError(str(error)) from error


def regex_validator() -> Validator:
    """For properties that are a pattern (Java: `RegexValidator`)."""

    def check(name: str, value: Any) -> None:
        try:
            compile_java_regex(value)
        except (JavaRegexError, TypeError) as error:
            raise ConfigError.invalid(name, value, f"Invalid regex: {error}") from error

    return LambdaValidator(check, lambda: "valid regex")


class Replacement:
    """A replacement text with `$1`, `${name}` and `\\` before what is meant literally.

    As in Java its mistakes show only when it is used, so that a router whose pattern never matches does no harm.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def expand(self, match: regex.Match[str]) -> str:
        """The text for a match; a group that took no part is empty. DataError if the text is wrong or no such group."""
        text, result, position = self._text, [], 0
        while position < len(text):
            char = text[position]
            position += 1
            if char == "$":
                group, position = self._reference(match, position)
                result.append(group)
            elif char == "\\":
                if position == len(text):
                    raise DataError(f"The replacement '{text}' ends in a backslash; write two for one")
                result.append(text[position])
                position += 1
            else:
                result.append(char)
        return "".join(result)

    def _reference(self, match: regex.Match[str], start: int) -> tuple[str, int]:
        """The group named after a `$`, and where the text continues."""
        text = self._text
        named = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}").match(text, start)
        if named is not None:
            if named[1] not in match.re.groupindex:
                raise DataError(f"The replacement '{text}' names a group {named[1]}, which the regex does not have")
            return match[named[1]] or "", named.end()
        if not text[start : start + 1].isdecimal():
            raise DataError(f"The replacement '{text}' has a $ without a group's number or {{name}}; write \\$ for a $")
        number, end = int(text[start]), start + 1
        if number > match.re.groups:
            raise DataError(f"The replacement '{text}' refers to group {number}; the regex has {match.re.groups}")
        while text[end : end + 1].isdecimal() and number * 10 + int(text[end]) <= match.re.groups:
            number = number * 10 + int(text[end])
            end += 1
        return match[number] or "", end


def _without_quotes(pattern: str) -> str:
    """Return the text between `\\Q` and `\\E` (or the end) as escaped characters."""
    return _QUOTED.sub(lambda m: m[0] if m[1] is None else "".join(f"\\x{{{ord(char):x}}}" for char in m[1]), pattern)


class _Translator:
    """Reads a pattern once, from left to right. `_flags` are those in force at the current place."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._flags: frozenset[str] = frozenset()
        self._open_groups: list[tuple[str, frozenset[str]]] = []
        """The beginning of each open group, and the flags around it."""
        self._groups = 0
        self._names: set[str] = set()
        self._repeatable = False

    def translate(self) -> str:
        parts = []
        while self._peek():
            parts.append(self._piece())
        if self._open_groups:
            raise self._error("Unclosed group")
        return "".join(parts)

    def _piece(self) -> str:
        char = self._take()
        repeatable, self._repeatable = self._repeatable, char not in "(|*+?{"
        match char:
            case "(":
                return self._open()
            case ")":
                return self._close()
            case "|":
                return char
            case "[":
                return self._set()
            case "\\":
                return self._escape()
            case ".":
                return self._dot()
            case "^":
                return rf"(?:\A|(?<=[{_LINE_ENDS}])(?!\Z))" if "m" in self._flags else r"\A"
            case "$":
                return rf"(?=[{_LINE_ENDS}]|\Z)" if "m" in self._flags else _BEFORE_LAST_LINE_END
            case "*" | "+" | "?" | "{":
                return self._quantifier(char, repeatable)
        return self._literal(char)

    def _dot(self) -> str:
        if "s" in self._flags:
            return r"[\s\S]"
        return r"[^\n]" if "d" in self._flags else f"[^{_LINE_ENDS}]"

    def _quantifier(self, char: str, repeatable: bool) -> str:
        if not repeatable and char != "{":
            raise self._error(f"Dangling meta character '{char}'")
        quantifier = _QUANTIFIER.match(self._pattern, self._position - 1)
        if not repeatable or quantifier is None:
            raise self._error("Illegal repetition")
        if _UNBOUNDED.match(quantifier[0]) and any(group in ("(?<=", "(?<!") for group, _ in self._open_groups):
            raise self._error("A look-behind group has no greatest length")
        self._position = quantifier.end()
        return quantifier[0]

    def _open(self) -> str:
        group = _GROUP.match(self._pattern, self._position - 1)
        if group is None:
            return self._open_with_flags()
        self._position = group.end()
        self._open_groups.append((group[0], self._flags))
        self._groups += group[0] == "(" or group[1] is not None
        if group[1] in self._names:
            raise self._error(f"Named capturing group <{group[1]}> is already defined")
        self._names |= {group[1]} - {None}
        return group[0]

    def _open_with_flags(self) -> str:
        flags = _FLAGS.match(self._pattern, self._position - 1)
        if flags is None:
            raise self._error("Unknown inline modifier or group name")
        self._position = flags.end()
        if flags[3] == ":":
            self._open_groups.append((flags[0], self._flags))
        self._flags = (self._flags | set(flags[1])) - set(flags[2] or "")
        # Without u it is ASCII's letters whose case does not count: see `_range`.
        return f"(?{'i-f' if 'i' in self._flags and self._flags & {'u', 'U'} else '-i'}{flags[3]}"

    def _close(self) -> str:
        if not self._open_groups:
            raise self._error("Unmatched closing ')'")
        _, self._flags = self._open_groups.pop()
        return ")"

    def _escape(self) -> str:
        char = self._take_any()
        if char in "123456789":
            return self._back_reference(char)
        if char == "k":
            name = _NAME.match(self._pattern, self._position)
            if name is None or name[1] not in self._names:
                raise self._error("\\k is not followed by '<' and the name of a group before it")
            self._position = name.end()
            return self._group_again(name[1])
        if char == "R":
            return rf"(?:\r\n|[{VERTICAL}])"
        if char in _ANCHORS:
            if self._pattern.startswith("{", self._position):
                raise self._error(f"\\{char}{{..}} is not supported")
            return _ANCHORS[char]
        return self._class(char) or self._literal(self._character(char))

    def _back_reference(self, digit: str) -> str:
        number = int(digit)
        while (more := self._pattern[self._position : self._position + 1]) in set("0123456789"):
            if number * 10 + int(more) > self._groups:
                break
            number = number * 10 + int(more)
            self._position += 1
        return self._group_again(str(number)) if number <= self._groups else "(?!)"

    def _group_again(self, group: str) -> str:
        return rf"(?i-f:\g<{group}>)" if "i" in self._flags else rf"\g<{group}>"

    def _set(self) -> str:
        """After a `[`: the set as a whole. The library nests and intersects sets as Java does."""
        negated = self._pattern.startswith("^", self._position)
        self._position += negated
        operands = [""]
        while (char := self._peek()) != "]" or operands == [""]:
            if not char:
                raise self._error("Unclosed character class")
            if self._pattern.startswith("&&", self._position):
                self._position += 2
                operands.append("")
            else:
                operands[-1] += self._member()
        self._position += 1
        return f"[{'^' if negated else ''}{'&&'.join(filter(None, operands))}]"

    def _member(self) -> str:
        """A set within the set, a range or a character."""
        char = self._take()
        if char == "[":
            return self._set()
        if char == "\\":
            char = self._take_any()
            if within := self._class(char):
                return within
            char = self._character(char)
        if self._peek() != "-" or self._pattern[self._position + 1 : self._position + 2] in ("", "]", "["):
            return self._range(char, char)
        self._position += 1
        last = self._take()
        if last == "\\":
            last = self._take_any()
            if self._class(last):
                raise self._error("Illegal character range")
            last = self._character(last)
        return self._range(char, last)

    def _range(self, first: str, last: str) -> str:
        """A part of a set, in both cases if the flags say so for ASCII letters."""
        part = f"\\U{ord(first):08x}-\\U{ord(last):08x}"
        if "i" in self._flags:
            for a, z in (("a", "z"), ("A", "Z")):
                low, high = max(first, a), min(last, z)
                part += f"{low.swapcase()}-{high.swapcase()}" if low <= high else ""
        return part

    def _literal(self, char: str) -> str:
        return f"[{self._range(char, char)}]" if "i" in self._flags else f"\\U{ord(char):08x}"

    def _class(self, char: str) -> str:
        """The set that the escape stands for; "" if it stands for a character."""
        if char in "pP":
            return f"[{'^' if char == 'P' else ''}{self._property()}]"
        content = CLASSES.get(char.lower())
        if content is None:
            return ""
        if "U" in self._flags and char in "dDwWsS":
            raise self._error(f"\\{char.lower()} is not supported together with the flag U")
        return f"[{'^' if char.isupper() else ''}{content}]"

    def _property(self) -> str:
        named = _PROPERTY.match(self._pattern, self._position - 1)
        if named is None:
            raise self._error("Unclosed character family")
        self._position = named.end()
        try:
            content = property_set(named[1] if named[1] is not None else named[2])
        except SetSyntaxError as error:
            raise self._error(str(error)) from error
        return IN_ANY_CASE.get(content, content) if "i" in self._flags else content

    def _character(self, char: str) -> str:
        """The character that an escape stands for."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        code = _CODE.match(self._pattern, self._position - 1)
        if code is None:
            if char.isascii() and char.isalnum():
                raise self._error(f"Illegal or unsupported escape sequence \\{char}")
            return char
        self._position = code.end()
        hexadecimal, octal, control, name = code[1] or code[2] or code[3], code[4], code[5], code[6]
        if control is not None:
            return chr(ord(control) ^ 64)
        try:
            return chr(int(octal, 8) if octal else int(hexadecimal, 16)) if name is None else unicodedata.lookup(name)
        except KeyError as error:
            raise self._error(f"Unknown character name [{name}]") from error
        except (ValueError, OverflowError) as error:
            raise self._error("Hexadecimal codepoint is too big") from error

    def _peek(self) -> str:
        """The next character, "" at the end; with the flag x past blanks and comments."""
        if "x" in self._flags:
            blanks = _BLANKS.match(self._pattern, self._position)
            assert blanks is not None
            self._position = blanks.end()
        return self._pattern[self._position : self._position + 1]

    def _take(self) -> str:
        char = self._peek()
        self._position += 1
        return char

    def _take_any(self) -> str:
        """The character after a backslash, be it a blank."""
        char = self._pattern[self._position : self._position + 1]
        if not char:
            raise self._error("Unexpected end after a backslash")
        self._position += 1
        return char

    def _error(self, message: str) -> JavaRegexError:
        return JavaRegexError(f"{message} near index {max(self._position - 1, 0)} of {self._pattern}")


__all__ = ["JavaRegexError", "Replacement", "compile_java_regex", "regex_validator"]
