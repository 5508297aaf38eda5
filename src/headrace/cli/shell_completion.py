# SPDX-License-Identifier: Apache-2.0
"""Completion in bash and zsh of names that a shell has to quote, such as ``it's``.

Typer's scripts insert names into bash without quotes, lose apostrophes in zsh, and complete nothing at the first TAB of
a session of zsh. These take their place; they ask for classes under other names, since Typer registers its own again
with every start. Scripts that were installed earlier still find those.
"""

from __future__ import annotations

import os
import re
from typing import Final

from typer import _completion_shared
from typer._click.shell_completion import CompletionItem, add_completion_class
from typer._completion_classes import FishComplete

_ZSH: Final = "headrace-zsh"
_BASH: Final = "headrace-bash"

_ZSH_SCRIPT: Final = """
#compdef %(prog_name)s

%(complete_func)s() {
  local value help
  local -a values described
  while IFS=$'\\t' read -r value help; do
    [[ -n $value ]] || continue
    if [[ -n $help ]]; then described+=("${value//:/\\\\:}:$help"); else values+=("$value"); fi
  done < <(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" %(autocomplete_var)s=complete_headrace-zsh %(prog_name)s)
  (( $#values + $#described )) || { _files; return }
  [[ $PREFIX == --*=* ]] && compset -P '*='
  (( $#values )) && compadd -a values
  (( $#described )) && _describe -V '' described
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  %(complete_func)s "$@"
else
  compdef %(complete_func)s %(prog_name)s
fi
"""
"""zsh loads a file of ``fpath`` at the first TAB, as the body of the function that is to complete already."""

_BASH_SCRIPT: Final = """
%(complete_func)s() {
    mapfile -t COMPREPLY < <(env _TYPER_COMPLETE_ARGS="${COMP_LINE:0:COMP_POINT}" \\
        _TYPER_COMPLETE_WORD_TO_COMPLETE="${COMP_WORDS[COMP_CWORD]}" \\
        %(autocomplete_var)s=complete_headrace-bash "$1")
    [[ ${#COMPREPLY[@]} -gt 1 || -n ${COMPREPLY[0]} ]] || COMPREPLY=()
}

complete -o default -F %(complete_func)s %(prog_name)s
"""


class LineComplete(FishComplete):
    """For zsh: a line for each completion, with its help after a tab, as for fish. zsh quotes them itself."""

    def complete(self) -> str:
        """Return the lines; completions with control characters, which cannot be typed, are left out."""
        items = self.get_completions(*self.get_completion_args())
        return "\n".join(self.format_completion(item) for item in items if str(item.value).isprintable())


class BashComplete(LineComplete):
    """For bash, which inserts completions as they are: quoted as the word that is completed."""

    def format_completion(self, item: CompletionItem) -> str:
        """Return the value as it has to follow what bash leaves of the word."""
        word = os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
        return bash_completion(item.value, self.get_completion_args()[1], word)


def bash_completion(value: str, typed: str, word: str) -> str:
    """Return a completion of the text ``typed``, of which bash replaces ``word``, as typed with its quotes.

    A colon ends a word for bash, unless it is quoted: then the word before it stays.
    """
    if word.startswith("'"):
        return value.replace("'", "'\\''")
    if word.startswith('"'):
        return re.sub(r'(["$`\\])', r"\\\1", value)
    before = typed.rpartition(":")[0] if word == ":" or ":" not in word else ""
    rest = value[len(before) + 1 :] if before and value.startswith(f"{before}:") else value
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", rest)


def use_own_scripts() -> None:
    """Have `--install-completion` and `--show-completion` write these scripts for bash and zsh."""
    add_completion_class(LineComplete, _ZSH)
    add_completion_class(BashComplete, _BASH)
    _completion_shared._completion_scripts |= {"bash": _BASH_SCRIPT, "zsh": _ZSH_SCRIPT}
