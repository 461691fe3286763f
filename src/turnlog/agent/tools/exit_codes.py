"""What a command's exit status means, as far as its words tell: some say with 1 that they found nothing."""

from __future__ import annotations

import re
import shlex

_EXIT_CODE_MEANINGS = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "git grep"), "No matches found"),
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "git diff": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}
_SILENT_PROGRAMS = frozenset("cd chgrp chmod chown cp export ln mkdir mv rm rmdir touch unset wait".split())
_FOLDER_CHANGING_PROGRAMS = frozenset({"cd", "chdir", "pushd", "popd"})
_JOINED_STREAM_PATTERN = re.compile(r"\d*[<>]&(?=[\d-])|&>>?")
_COMMAND_JOINTS = frozenset({";", "&&", "||", "|", "|&", "&"})


def explain_exit_code(command: str, code: int) -> str | None:
    """What an exit status of 1 says that is no error; None if it is one, or if the command did well."""
    parts = _split_simple_commands(command)
    if code != 1 or not parts:
        return None
    words = parts[-1]
    return _EXIT_CODE_MEANINGS.get(words[0]) or _EXIT_CODE_MEANINGS.get(" ".join(words[:2]))


def is_expected_silent(command: str) -> bool:
    """Whether a command is one that says nothing when it does well."""
    parts = _split_simple_commands(command, frozenset({";", "&&"}))
    return bool(parts) and all(
        words[0] in _SILENT_PROGRAMS and not _COMMAND_JOINTS.intersection(words) for words in parts
    )


def begins_with_pause(command: str) -> bool:
    """Whether a command begins with waiting, so that nothing is gained when it goes on in the background."""
    parts = _split_simple_commands(command)
    return bool(parts) and parts[0][0] == "sleep"


def changes_folder(command: str) -> bool:
    """Whether a command changes the folder that it is in."""
    return any(words[0] in _FOLDER_CHANGING_PROGRAMS for words in _split_simple_commands(command))


def _split_simple_commands(command: str, joints: frozenset[str] = _COMMAND_JOINTS) -> list[list[str]]:
    """The words of the simple commands of a command, as far as they can be told without a parser."""
    plain = _JOINED_STREAM_PATTERN.sub(">", command).replace("\n", " ; ")
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in joints:
                parts.append([])
            else:
                parts[-1].append(word)
    except ValueError:
        return []
    return [part for part in parts if part]
