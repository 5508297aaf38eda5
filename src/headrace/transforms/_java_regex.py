# SPDX-License-Identifier: Apache-2.0
"""Java's regular expressions (`java.util.regex`), translated to Python's `re`, and Java's replacement texts.

Most of the two dialects is the same. What differs is said in Python's way where it can be said: quotes `\\Q..\\E`,
flags in mid-pattern, line ends, properties such as `\\p{L}`, and sets such as `[a-z&&[^aeiou]]`. The rest is refused:
scripts and blocks (`\\p{IsGreek}`, `\\p{InGreek}`), `\\X`, `\\b{g}`, and looking behind for a text of no fixed length.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

from headrace.api.errors import ConfigError, DataError
from headrace.api.validators import LambdaValidator, Validator
from headrace.transforms._java_regex_sets import SetSyntaxError, property_set

_LINE_ENDS: Final = r"\n\r\x85\u2028\u2029"
_BEFORE_LAST_LINE_END: Final = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)"
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)
_QUANTIFIER: Final = re.compile(r"(?:[?*+]|\{[0-9]+(?:,[0-9]*)?\})[?+]?")
_FLAGS: Final = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_NAME: Final = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)>")
_CODE: Final = re.compile(
    r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|0([0-3][0-7]{2}|[0-7]{1,2})|c(.)", re.S
)
_PROPERTY: Final = re.compile(r"[pP](?:\{([^}]*)\}|(.))", re.S)
_PREFIXES: Final = ("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!")

_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ANCHORS: Final = {"A": r"\A", "G": r"\A", "z": r"\Z", "Z": _BEFORE_LAST_LINE_END, "b": r"\b", "B": r"\B"}
_HORIZONTAL: Final = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL: Final = r"\n\x0b\f\r\x85\u2028\u2029"
_SETS: Final = {"h": _HORIZONTAL, "v": _VERTICAL}


class JavaRegexError(ValueError):
    """The pattern is not one of Java's, or says what Python cannot."""


def compile_java_regex(pattern: str) -> re.Pattern[str]:
    """The pattern in Python's dialect, to be used with `fullmatch` and `search`. JavaRegexError if it cannot be."""
    try:
        return re.compile(_Translator(_without_quotes(pattern)).translate(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
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

    def expand(self, match: re.Match[str]) -> str:
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

    def _reference(self, match: re.Match[str], start: int) -> tuple[str, int]:
        """The group named after a `$`, and where the text goes on."""
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
    """What stands between `\\Q` and `\\E` (or the end) as escaped characters."""
    return _QUOTED.sub(lambda m: m[0] if m[1] is None else "".join(map(_escaped, m[1])), pattern)


def _escaped(char: str) -> str:
    if char.isdecimal() and char.isascii():
        return f"\\x3{char}"  # never a part of the number before it
    return char if char.isalnum() or not char.isascii() else f"\\{char}"


class _Translator:
    """Reads a pattern once, from left to right. `_flags` are those in force at the current place."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._flags: frozenset[str] = frozenset()
        self._groups = 0
        self._names: set[str] = set()

    def translate(self) -> str:
        result = self._alternatives()
        if self._position < len(self._pattern):
            raise self._error("Unmatched closing ')'")
        return result

    def _alternatives(self) -> str:
        """Up to the end of the group; flags that are set in it end with it."""
        outer, parts = self._flags, []
        while (char := self._peek()) not in ("", ")"):
            if char == "|":
                self._position += 1
                parts.append("|")
            else:
                parts.append(self._piece())
        self._flags = outer
        return "".join(parts)

    def _piece(self) -> str:
        atom = self._atom()
        if not atom:  # flags for what follows
            return ""
        self._peek()
        quantifier = _QUANTIFIER.match(self._pattern, self._position)
        if quantifier is None:
            return atom
        self._position = quantifier.end()
        return atom + quantifier[0]

    def _atom(self) -> str:
        char = self._take()
        match char:
            case "(":
                return self._group()
            case "[":
                return self._cased(self._set())
            case "\\":
                return self._escape()
            case ".":
                return self._dot()
            case "^":
                return rf"(?:\A|(?<=[{_LINE_ENDS}])(?!\Z))" if "m" in self._flags else r"\A"
            case "$":
                return rf"(?=[{_LINE_ENDS}]|\Z)" if "m" in self._flags else _BEFORE_LAST_LINE_END
            case "*" | "+" | "?":
                raise self._error(f"Dangling meta character '{char}'")
            case "{":
                raise self._error("Illegal repetition")
        return self._cased(re.escape(char))

    def _dot(self) -> str:
        if "s" in self._flags:
            return r"[\s\S]"
        return r"[^\n]" if "d" in self._flags else f"[^{_LINE_ENDS}]"

    def _group(self) -> str:
        start = self._position - 1
        flags = _FLAGS.match(self._pattern, start)
        prefix = next((prefix for prefix in _PREFIXES if self._pattern.startswith(prefix, start)), None)
        outer = self._flags
        if prefix is not None:
            self._position = start + len(prefix)
        elif flags is not None:
            prefix = "(?:"
            self._position = flags.end()
            self._flags = (self._flags | set(flags[1])) - set(flags[2] or "")
            if flags[3] == ")":
                return ""
        else:
            prefix = self._capturing()
        body = self._alternatives()
        if self._peek() != ")":
            raise self._error("Unclosed group")
        self._position += 1
        self._flags = outer
        return f"{prefix}{body})"

    def _capturing(self) -> str:
        self._groups += 1
        if self._pattern[self._position : self._position + 1] != "?":
            return "("
        name = _NAME.match(self._pattern, self._position + 1)
        if name is None:
            raise self._error("Unknown inline modifier or group name")
        self._position = name.end()
        self._names.add(name[1])
        return f"(?P<{name[1]}>"

    def _escape(self) -> str:
        char = self._take_any()
        if char in "123456789":
            return self._cased(self._back_reference(char))
        if char == "k":
            name = _NAME.match(self._pattern, self._position)
            if name is None or name[1] not in self._names:
                raise self._error("\\k is not followed by '<' and the name of a group before it")
            self._position = name.end()
            return self._cased(f"(?P={name[1]})")
        if char == "R":
            return rf"(?:\r\n|[{_VERTICAL}])"
        if char in _ANCHORS:
            if self._pattern.startswith("{", self._position):
                raise self._error(f"\\{char}{{..}} is not supported")
            return _ANCHORS[char]
        self._position -= 1
        content, negated = self._set_escape()
        return self._cased(_set(content, negated))

    def _back_reference(self, digit: str) -> str:
        number = int(digit)
        while (more := self._pattern[self._position : self._position + 1]) in set("0123456789"):
            if number * 10 + int(more) > self._groups:
                break
            number = number * 10 + int(more)
            self._position += 1
        return rf"(?:\{number})" if number <= self._groups else "(?!)"

    def _set_escape(self) -> tuple[str, bool]:
        """After a backslash: the content of a set, and whether the set is of everything else."""
        char = self._take_any()
        if char in "dws":
            return self._ascii_or_unicode(char), False
        if char in "DWS":
            return self._ascii_or_unicode(char.lower()), True
        if char.lower() in _SETS:
            return _SETS[char.lower()], char.isupper()
        if char in "pP":
            return self._property(), char == "P"
        return re.escape(self._literal(char)), False

    def _ascii_or_unicode(self, char: str) -> str:
        if "U" in self._flags:
            raise self._error(f"\\{char} is not supported together with the flag U")
        return f"\\{char}"

    def _property(self) -> str:
        named = _PROPERTY.match(self._pattern, self._position - 1)
        if named is None:
            raise self._error("Unclosed character family")
        self._position = named.end()
        try:
            return property_set(named[1] if named[1] is not None else named[2])
        except SetSyntaxError as error:
            raise self._error(str(error)) from error

    def _literal(self, char: str) -> str:
        """The character that an escape stands for."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        code = _CODE.match(self._pattern, self._position - 1)
        if code is not None:
            self._position = code.end()
            return self._coded(code)
        named = re.compile(r"N\{([^}]*)\}").match(self._pattern, self._position - 1)
        if named is not None:
            self._position = named.end()
            try:
                return unicodedata.lookup(named[1])
            except KeyError as error:
                raise self._error(f"Unknown character name [{named[1]}]") from error
        if char.isascii() and char.isalnum():
            raise self._error(f"Illegal or unsupported escape sequence \\{char}")
        return char

    def _coded(self, code: re.Match[str]) -> str:
        if code[5] is not None:
            return chr(ord(code[5]) ^ 64)
        number = int(code[4], 8) if code[4] is not None else int(code[1] or code[2] or code[3], 16)
        if number > 0x10FFFF:
            raise self._error("Hexadecimal codepoint is too big")
        return chr(number)

    def _set(self) -> str:
        """After a `[`: an expression that matches one character of the set."""
        negated = self._pattern.startswith("^", self._position)
        self._position += negated
        operands = [self._operand(first=True)]
        while self._pattern.startswith("&&", self._position):
            self._position += 2
            operands.append(self._operand(first=False))
        self._position += 1
        operands = [operand for operand in operands if operand]
        *conditions, last = operands
        if not conditions:
            return _not(last) if negated else last
        both = f"(?:{''.join(f'(?={condition})' for condition in conditions)}{last})"
        return _not(both) if negated else both

    def _operand(self, first: bool) -> str:
        """What stands before the next `&&` or the closing `]`, which is not taken."""
        content = ""
        others: list[str] = []
        while True:
            char = self._peek()
            if not char:
                raise self._error("Unclosed character class")
            if (char == "]" and (content or others or not first)) or self._pattern.startswith("&&", self._position):
                break
            self._position += 1
            if char == "[":
                others.append(self._set())
            elif char == "\\":
                item, negated = self._set_escape()
                if negated:
                    others.append(f"[^{item}]")
                else:
                    content += self._ranged(item)
            else:
                content += self._ranged(re.escape(char))
        alternatives = ([f"[{content}]"] if content else []) + others
        return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})" if alternatives else ""

    def _ranged(self, low: str) -> str:
        """The range that begins with `low`, if a hyphen and an end follow; else `low`."""
        following = self._pattern[self._position + 1 : self._position + 2]
        if self._peek() != "-" or following in ("", "]", "[") or not _is_character(low):
            return low
        self._position += 1
        char = self._take()
        high = self._set_escape()[0] if char == "\\" else re.escape(char)
        if not _is_character(high):
            raise self._error("Illegal character range")
        return f"{low}-{high}"

    def _cased(self, atom: str) -> str:
        if "i" not in self._flags:
            return atom
        return f"(?{'u' if self._flags & {'u', 'U'} else ''}i:{atom})"

    def _peek(self) -> str:
        """The next character, "" at the end; with the flag x past blanks and comments."""
        if "x" in self._flags:
            blank = re.compile(r"(?:[ \t\n\x0b\f\r]|#[^\n\r\x85\u2028\u2029]*)*").match(self._pattern, self._position)
            assert blank is not None
            self._position = blank.end()
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


def _is_character(content: str) -> bool:
    """Whether the content of a set is one escaped or plain character, and no class such as `\\d`."""
    return len(content) == 1 or (len(content) == 2 and content[0] == "\\" and not content[1].isalnum())


def _set(content: str, negated: bool) -> str:
    if negated:
        return f"[^{content}]"
    return content if _is_character(content) else f"[{content}]"


def _not(one: str) -> str:
    """Any one character that `one` does not match."""
    if one.startswith("[") and not one.startswith("[^"):
        return f"[^{one[1:]}"
    return rf"(?:(?!{one})[\s\S])"


__all__ = ["JavaRegexError", "Replacement", "compile_java_regex", "regex_validator"]
