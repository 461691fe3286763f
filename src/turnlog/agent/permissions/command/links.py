"""Finds commands that put files of other origin in place: what they bring may be links that lead elsewhere.

A line is judged before it runs. After `git checkout evil` or `tar xf a.tar`, a name in the same line may be that of a
link that was not there before. Therefore, a line that brings files and then uses names needs permission.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.coverage import find_git_verb
from turnlog.agent.permissions.command.effects import (
    SEARCH_OPTION_PATTERN,
    find_read_only_use,
    find_touched_files,
)
from turnlog.agent.permissions.command.named_files import is_valued_option
from turnlog.agent.permissions.command.runners import list_possible_commands
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.words import ShellWord, get_program_name
from turnlog.agent.permissions.file_access import HARMLESS_DEVICES

_CURRENT_FOLDER_NAMES = frozenset({"-", ".", "./"})
_URL_PATTERN = re.compile(r"(?!file:)[a-z+]+://.*", re.IGNORECASE | re.DOTALL)


def uses_brought_files(parts: Sequence[SimpleCommand], *, is_ordered: bool, only_written: bool = False) -> bool:
    """Return whether a command names a file that an earlier one may have put in place.

    If the commands don't run in the order in which they are written (in a loop, in a pipe), each counts as earlier.
    """
    bringing = [position for position, part in enumerate(parts) if _brings_files(part)]
    if not bringing:
        return False
    later = [
        part
        for position, part in enumerate(parts)
        if any(position > one or (position != one and not is_ordered) for one in bringing)
    ]
    return any(
        _is_resolved_when_run(word) for part in later for word in list_named_files(part, only_written=only_written)
    )


def _brings_files(part: SimpleCommand) -> bool:
    """Return whether a command may put links in place."""
    return any(_brings_by_words(words) for words in list_possible_commands(part.words) if words)


def _brings_by_words(words: Sequence[ShellWord]) -> bool:
    name, rest = get_program_name(words), [word.text for word in words[1:]]
    if name != "git":
        return re.fullmatch(build_table_pattern("bringing", name), " ".join(rest), re.DOTALL) is not None
    verb, after = find_git_verb(rest)
    # An unknown subcommand may be an alias of `checkout`.
    return bool(verb) and not re.fullmatch(build_table_pattern("git_still", verb), " ".join(after), re.DOTALL)


def list_named_files(part: SimpleCommand, *, only_written: bool = False) -> Iterator[ShellWord]:
    """Yield the words of a command that it takes for names of files."""
    for words in filter(None, list_possible_commands(part.words)):
        name = get_program_name(words)
        if name in ("git", "."):  # git does not follow links; `.` is the folder of `find .`
            continue
        use = find_read_only_use(words)
        if use is None:
            touched = find_touched_files(words)
            yield from touched.writes if only_written else (*touched.reads, *touched.writes)
        elif not only_written:
            values = set(map(id, _list_values(name, words)))  # `head -n 5 5`: only one of two equal words is a file
            yield from (word for word in use.reads if word.raw and id(word) not in values)
        yield from words[1:] if name in ("cd", "pushd") else ()
    yield from (redirect.target for redirect in part.redirects if redirect.is_written or not only_written)


def _list_values(name: str, words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return the words that are values of options, or part of the expression of `find`."""
    if name == "find":
        start = next((at for at, word in enumerate(words) if word.text[:1] in ("-", "(", "!")), len(words))
        return list(words[start:])
    values = [value for option, value in pairwise(words) if is_valued_option(name, option.text)]
    if is_in_tables(name, "searches") and not any(SEARCH_OPTION_PATTERN.match(word.text) for word in words):
        known = set(map(id, values))
        values += [word for word in words[1:] if word.text[:1] != "-" and id(word) not in known][:1]
    return values


def _is_resolved_when_run(word: ShellWord) -> bool:
    is_aside = word.text in HARMLESS_DEVICES or word.text in _CURRENT_FOLDER_NAMES
    return not is_aside and not _URL_PATTERN.fullmatch(word.text)
