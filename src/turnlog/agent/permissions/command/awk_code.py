"""Takes awk commands apart: which word is the program, which are files, and whether the program does more than print.

An awk program can run commands, read other files and write files. A program counts as harmless only if it plainly does
none of this; where strings and patterns can't be told apart, `|` and `>` in either of them count as code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from turnlog.agent.permissions.command.words import ShellWord

AWK_NAMES = ("awk", "gawk", "mawk", "nawk")
_CODE_PATTERN = re.compile(r"getline|system|ARGV|ENVIRON|SYMTAB|FUNCTAB|PROCINFO|@|(?<![|])[|](?![|])")
_STRING_PATTERN = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_FIRST_REGEX_PATTERN = re.compile(r"\s*!?\s*/(?:[^/\\\n]|\\.)*/")
_REGEX_PATTERN = re.compile(r"(^|[~!{;}&(,\n])(\s*)/(?:[^/\\\n]|\\.)*/")
"""A regular expression after an operator, where `/` can't be a division; only if there are no strings and comments."""
_GROUP_PATTERN = re.compile(r"\([^()]*\)")
_CONDITION_PATTERN = re.compile(r"\b(?:if|while)\s*\([^()\"/]*\)|[};\n][^{}\"/;\n]*\{")
_REDIRECT_PATTERN = re.compile(r"print[^;}\n]*>(?!=)")
_MAX_NESTED_GROUPS = 50


class AwkCommand(NamedTuple):
    script: str
    files: tuple[ShellWord, ...]


def parse_awk(words: Sequence[ShellWord]) -> AwkCommand | None:
    """Return the parts of an awk command; None if it has an option other than `-F` and `-v`, or no program."""
    position = 1
    while position < len(words) and words[position].text.startswith("-"):
        text = words[position].text
        if text == "--":
            position += 1
            break
        if not re.match(r"-[Fv]", text):
            return None
        position += 1 if len(text) > 2 else 2
    if position >= len(words):
        return None
    return AwkCommand(words[position].text, tuple(words[position + 1 :]))


def is_tame_awk(words: Sequence[ShellWord]) -> bool:
    """Return whether an awk command runs nothing, and reads and writes only the files that it names."""
    command = parse_awk(words)
    if command is None:
        return False
    script, is_exact = _strip_texts(command.script)
    if _CODE_PATTERN.search(script):
        return False
    if not is_exact:
        _, _, printed = _CONDITION_PATTERN.sub("", script).replace(">=", "").partition("print")
        return ">" not in printed
    for _ in range(_MAX_NESTED_GROUPS):
        script = _GROUP_PATTERN.sub("", script)
    return "(" not in script and not _REDIRECT_PATTERN.search(script)


def _strip_texts(script: str) -> tuple[str, bool]:
    """Return a program without its strings or regular expressions, and whether nothing else of the kind is left."""
    if "#" in script:
        return script, False
    if '"' not in script:
        rest = _REGEX_PATTERN.sub(r"\1\2", script)
        return rest, "/" not in rest
    if "/" not in script:
        rest = _STRING_PATTERN.sub("", script)
        return rest, '"' not in rest
    return _FIRST_REGEX_PATTERN.sub("", script, count=1) if _FIRST_REGEX_PATTERN.match(script) else script, False
