"""Checks the variables that a command sets: bash evaluates the values of some of them, which can run commands.

Bash evaluates the value of an integer variable, and evaluating the index in `x=a[$(id)]` runs a command. A variable may
be an integer (`RANDOM`, `OPTIND`), become one (`declare -i`), or control other programs (`http_proxy`). Therefore, only
variables that are known to be harmless can be set without permission.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.words import ShellWord, get_program_name

_QUOTED_VALUE_PATTERN = re.compile(r"""(['"]?)([^'"]*)\1""")
_COMPUTED_INDEX_PATTERN = re.compile(r"\[.*[$`]|[$`].*\[", re.DOTALL)


def has_safe_settings(part: SimpleCommand) -> bool:
    """Return whether the assignments before a command only affect how it prints."""
    return all(_is_safe_setting(name, value) for name, value in part.assigned)


def _is_safe_setting(name: str, value: str) -> bool:
    plain = _QUOTED_VALUE_PATTERN.fullmatch(value)
    return plain is not None and re.fullmatch(build_table_pattern("settings", name), plain[2], re.ASCII) is not None


def may_compute_value(words: Sequence[ShellWord]) -> bool:
    """Return whether a builtin sets a variable or receives an array index, in which case bash may evaluate a value."""
    name = get_program_name(words)
    if is_in_tables(name, "tests"):
        return _tests_variable(words[1:])
    if not is_in_tables(name, "naming"):
        return False
    known = [word for word in words[1:] if word.is_known and word.pattern is None]
    texts = [word.text for word in known]
    return len(known) < len(words) - 1 or not all(_is_plain_word(name, text) for text in texts)


def _tests_variable(words: Sequence[ShellWord]) -> bool:
    """Return whether a test checks a variable by name or treats its words as numbers, and so as variable names."""
    if not any(is_in_tables(word.text, "numeric", "variable_tests") for word in words):
        return False
    return not all(word.is_known and re.fullmatch(r"-?\d+|-[a-zR]{1,2}|\]\]?", word.text) for word in words)


def _is_plain_word(name: str, text: str) -> bool:
    if _COMPUTED_INDEX_PATTERN.search(text) or is_in_tables(text.partition("=")[0], "integers"):
        return False
    return is_in_tables(text, "plain") or re.fullmatch(build_table_pattern("naming", name), text, re.DOTALL) is not None


def sets_integer_variable(part: SimpleCommand) -> bool:
    """Return whether a command sets a variable whose value bash evaluates."""
    return any(is_in_tables(name.rstrip("+"), "integers") or "[" in name for name, _ in part.assigned)
