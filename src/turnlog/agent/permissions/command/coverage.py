"""Decides whether a rule for many uses of a program (`Bash(tar:*)`) covers one of them.

A rule covers a command, not every file and not every program. It does not cover a use whose arguments show that it runs
or reads code that can't be checked (`tar --to-command`, `sort --compress-program`, `curl -K`), or that it follows
links out of the folder. Code that a program runs by itself (`npm test`, `python3 x.py`) is what the rule is for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from turnlog.agent.permissions.command.awk_code import AWK_NAMES, is_tame_awk
from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.effects import SEARCH_OPTION_PATTERN
from turnlog.agent.permissions.command.named_files import is_valued_option, shortens_option
from turnlog.agent.permissions.command.runners import (
    TRANSPARENT_RUNNERS,
    is_opaque_command,
    list_possible_commands,
    runs_anything,
    strip_runners,
)
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables, read_table
from turnlog.agent.permissions.command.words import ShellWord, get_program_name
from turnlog.agent.permissions.rules import PermissionRule, is_exact_rule

_LONG_OPTION_PATTERN = re.compile(r"--[a-z][a-z0-9-]*")


def covers_command(rule: PermissionRule, part: SimpleCommand) -> bool:
    """Return whether a rule whose text matches a command also covers what the command does."""
    if is_exact_rule(rule):
        return True
    words, spec = [word.text for word in part.words], rule.spec or ""
    is_open = "*" in spec.split(" ")[0].removesuffix(":*")
    if is_opaque_command(part) and (is_open or not is_in_tables(part.name or "", "shells")):
        return False
    if _runs_unchecked_code(part):
        return False
    if is_open and len(words) > 2 and runs_anything(part.words):
        return False  # `* --version` does not cover `python -c … --version`
    uncovered = (text for text in words if text not in spec)
    return "find" not in words or not any(
        re.fullmatch(build_table_pattern("find", "allowed"), text, re.DOTALL) for text in uncovered
    )


def may_take_code(word: ShellWord) -> bool:
    """Return whether a program that gets unknown words may run them, or read or write what they name."""
    name = get_program_name([word])
    tables = ("files", "reading", "changing", "writing", "input", "output", "unchecked")
    return is_in_tables(name, *tables) or is_in_tables(name.rstrip("0123456789."), "languages")


def follows_links(words: Sequence[ShellWord]) -> bool:
    """Return whether a command goes through folders and reads what the links in them lead to."""
    name = get_program_name(words)
    pattern, options = build_table_pattern("following", name), _list_long_options("following", name)
    texts = [word.text for word in words[1:]]
    return any(re.fullmatch(pattern, text, re.DOTALL) or shortens_option(text, options) for text in texts)


def list_walked_folders(words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return the words that may name the folders that a command goes through; a search without any starts here."""
    name = get_program_name(words)
    values = {id(value) for option, value in pairwise(words) if is_valued_option(name, option.text)}
    named = [word for word in words[1:] if word.text[:1] != "-" and id(word) not in values]
    if not is_in_tables(name, "searches"):
        return named
    has_option = any(SEARCH_OPTION_PATTERN.match(word.text) for word in words)
    return [*named, ShellWord(".")] if has_option or len(named) < 2 else named[1:]


def _runs_unchecked_code(part: SimpleCommand) -> bool:
    """Return whether a command runs code that can't be checked."""
    inner = strip_runners(part.words, TRANSPARENT_RUNNERS)
    if len(inner) > 1 and inner[0].text in ("timeout", "nice", "stdbuf"):
        return True
    return any(_has_unchecked_words(words) for words in list_possible_commands(part.words) if words)


def _has_unchecked_words(words: Sequence[ShellWord]) -> bool:
    name, texts = get_program_name(words), [word.text for word in words[1:]]
    if name in AWK_NAMES:
        return not is_tame_awk(words)
    if name == "tar" and texts and re.match(r"\w*[ITFPh]", texts[0]):  # `tar xfI a.tar ./program`
        return True
    if name == "git" and _runs_other_programs(texts):
        return True
    options = _list_long_options("unchecked", name)
    return any(
        re.fullmatch(build_table_pattern("unchecked", name), text, re.DOTALL) or shortens_option(text, options)
        for text in texts
    )


def _list_long_options(table: str, name: str) -> list[str]:
    return [one for one in read_table(table).get(name, ()) if _LONG_OPTION_PATTERN.fullmatch(one)]


def _runs_other_programs(texts: Sequence[str]) -> bool:
    """Return whether the arguments of git name a program that it runs, or settings that may name one."""
    verb, rest = find_git_verb(texts)
    if any(text.startswith(("--exec-path=", "--config-env")) for text in texts):
        return True
    if re.fullmatch(build_table_pattern("git_options", verb), " ".join(rest), re.DOTALL):
        return True
    named = [value for option, value in pairwise(texts) if option == "-c"]
    named += [text[2:] for text in texts if re.match(r"-c\w", text)] if verb != "commit" else []
    named = [one for one in named if "=" in one] + list(rest if verb == "config" else ())
    pattern = build_table_pattern("git_options", "settings")
    return any(re.fullmatch(pattern, one, re.DOTALL | re.IGNORECASE) for one in named)


def find_git_verb(texts: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the subcommand of git and what follows it."""
    position = 0
    while position < len(texts) and texts[position].startswith("-"):
        position += 2 if is_in_tables(texts[position], "git_valued") else 1
    return (texts[position], texts[position + 1 :]) if position < len(texts) else ("", ())
