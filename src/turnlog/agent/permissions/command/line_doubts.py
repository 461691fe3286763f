"""Finds how one command of a line may change the meaning of another, and in which folders the line runs git."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from turnlog.agent.permissions.command.bash_line import BashLine, SimpleCommand
from turnlog.agent.permissions.command.effects import changes_files, iterate_file_uses
from turnlog.agent.permissions.command.folders import LineFolders
from turnlog.agent.permissions.command.links import uses_brought_files
from turnlog.agent.permissions.command.runners import (
    TIMING_RUNNERS,
    TRANSPARENT_RUNNERS,
    list_possible_commands,
    strip_runners,
)
from turnlog.agent.permissions.command.tables import is_in_tables
from turnlog.agent.permissions.command.words import ShellWord, get_program_name, uses_folder_variable
from turnlog.agent.permissions.file_access import FileAccess
from turnlog.agent.permissions.git_programs import has_unknown_programs
from turnlog.agent.permissions.repository import REPOSITORY_NAMES, is_trusted_repository

_FOLDER_OPTIONS = ("--git-dir=", "--work-tree=")
BROUGHT_FILES_REASON = "what it puts in place may be links that then lead elsewhere"


def find_line_doubt(
    line: BashLine, parts: Sequence[SimpleCommand], folders: LineFolders, access: FileAccess
) -> str | None:
    """Return how one command in a line may change the meaning of another, if at all.

    `parts` also contains the nested commands of the line.
    """
    if may_change_folder_variable(line, parts):
        return "a variable in it can't be checked before it runs"
    programs = [
        get_program_name(strip_runners(part.words, TRANSPARENT_RUNNERS | TIMING_RUNNERS)) for part in line.parts
    ]
    writes = {part: name for part, name in zip(line.parts, programs, strict=True) if changes_files(part)}
    moves = folders.move_count
    if moves and (moves > 1 or line.has_loop or writes or "git" in programs):
        return "it changes the folder and does more there"
    created = {
        Path(word.text).name.casefold() for part in writes for use in iterate_file_uses(part) for word in use.writes
    }
    used = list_git_folders(parts, folders)
    if used and (created & REPOSITORY_NAMES or not all(_is_trusted(folder, access) for folder in used)):
        return "git may find settings in that folder that run other programs"
    if uses_brought_files(parts, is_ordered=line.is_ordered):
        return BROUGHT_FILES_REASON
    if len(line.parts) == 1 or not writes:
        return None
    if any(word.pattern and word.text[0] in "*?[-" for part in line.parts for word in part.words):
        return "names of files that it creates may be taken for options"
    moved = [word for part, name in writes.items() if name in ("mv", "cp", "ln") for word in part.words[1:]]
    there = [base / name for name, base in folders.resolve_files(moved[:-1])]
    return BROUGHT_FILES_REASON if any(path.is_dir() or path.is_symlink() for path in there) else None


def may_change_folder_variable(line: BashLine, parts: Sequence[SimpleCommand]) -> bool:
    """Return whether a line uses `$PWD` and may set it: by its name, or by a builtin that sets variables."""
    if not any(uses_folder_variable(part.words) for part in parts):
        return False
    programs = {get_program_name(words) for part in parts for words in list_possible_commands(part.words)}
    is_named = re.search(r"(?<!\$)(?<!\$\{)PWD", line.text) is not None
    return is_named or any(is_in_tables(name, "naming", "evaluators", "shells") for name in programs)


def list_git_folders(parts: Sequence[SimpleCommand], folders: LineFolders) -> list[Path]:
    """Return the folders whose repositories a line may use: the current one, and those that options name."""
    commands = [words for part in parts for words in list_possible_commands(part.words)]
    found = [folder for words in commands if get_program_name(words) == "git" for folder in _list_used(words, folders)]
    return list(dict.fromkeys(found))


def _list_used(words: Sequence[ShellWord], folders: LineFolders) -> list[Path]:
    named = [folder for option, folder in pairwise(words) if option.text in ("-C", "--git-dir", "--work-tree")]
    named += [ShellWord(word.text.partition("=")[2]) for word in words if word.text.startswith(_FOLDER_OPTIONS)]
    return [folders.bases[0], *(base / name for name, base in folders.resolve_files(named))]


def _is_trusted(folder: Path, access: FileAccess) -> bool:
    is_known = access.is_trusted or not has_unknown_programs(folder)
    return is_known and is_trusted_repository(folder, access.folders)
