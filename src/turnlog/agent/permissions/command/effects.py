"""Finds the files that a command reads or changes.

An unknown command or option requires permission. Every word that is not an option counts as a file, and so does the
value of an option: mistaking a number for a file is harmless, since such a file would be in the working folder.
"""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from turnlog.agent.permissions.command.awk_code import AWK_NAMES, parse_awk
from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.named_files import (
    find_option_files,
    find_written_operands,
    list_values_of_marks,
)
from turnlog.agent.permissions.command.runners import list_possible_commands
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables, read_table
from turnlog.agent.permissions.command.variables import may_compute_value
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name
from turnlog.agent.permissions.file_access import HARMLESS_DEVICES

_LONG_OPTION_PATTERN = re.compile(r"--[a-z][a-z0-9-]*", re.ASCII)
_SED_ADDRESS_PATTERN = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_PRINT_PATTERN = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")
_SED_SUBSTITUTION_PATTERN = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpi0-9]*")
_SAFE_SED_PATTERN = re.compile(
    rf"(?:{_SED_ADDRESS_PATTERN}(?:,{_SED_ADDRESS_PATTERN})?)?(?:[pdq=]|{_SED_SUBSTITUTION_PATTERN.pattern})"
)
"""A sed command that does not write other files or run anything."""
_SAFE_JQ_PATTERN = re.compile(
    r"(?!.*\b(?:env|ENV|import|include|input|inputs|input_filename|modulemeta|debug|stderr)\b)[^$@]*", re.DOTALL
)
_IN_PLACE_OPTION = "-i" if sys.platform != "darwin" else "(?!)"
"""On macOS, `sed -i` takes the next word, and the script is the word after that."""
_MAX_OPTION_CHARS = 40
SEARCH_OPTION_PATTERN = re.compile(r"-(?!-)\w*[ef]|--(?:reg|fi)|--$")
"""Options of a search that name what is searched for, so that the first other word is a file."""


class FileUse(NamedTuple):
    """The files that a command reads and writes."""

    reads: tuple[ShellWord, ...] = ()
    writes: tuple[ShellWord, ...] = ()
    is_recursive: bool = False
    """Whether the command also uses everything below a folder or in the git history."""


def iterate_file_uses(part: SimpleCommand) -> Iterator[FileUse]:
    """Yield the files that a command, or a command that it runs, may read or change."""
    for words in filter(None, list_possible_commands(part.words)):
        yield find_touched_files(words)
        yield find_read_only_use(words) or FileUse(_in_history(words) if get_program_name(words) == "git" else ())
    for target, is_written in part.redirects:
        yield FileUse(writes=(target,)) if is_written else FileUse(reads=(target,))


def changes_files(part: SimpleCommand) -> bool:
    """Return whether a command clearly changes files, or runs a program that changes the files passed to it."""
    indirect = (find_touched_files((word, ShellWord("."))) for word in part.words if part.name in ("xargs", "parallel"))
    return any(
        word.text not in HARMLESS_DEVICES for use in (*indirect, *iterate_file_uses(part)) for word in use.writes
    )


def find_read_only_use(words: Sequence[ShellWord]) -> FileUse | None:
    """Return the files that a command reads, or None if it may do anything else."""
    name, rest = words[0].text, words[1:]
    if name == "echo":
        is_harmless = all(word.is_known or is_in_tables(word.raw.strip('"'), "public_variables") for word in rest)
        return FileUse() if is_harmless and not any(word.pattern and "/" in word.text for word in rest) else None
    if not are_words_known(rest):
        return None
    if is_in_tables(name, "files"):
        return _find_read_files(name, rest) if _has_harmless_options(rest, read_table("files")[name]) else None
    special = {"git": _find_git_use, "jq": _find_jq_use, "cd": _find_cd_use}.get(name)
    if special and (use := special(rest)) is not None:
        return use
    if name == "sed" and (files := _find_sed_files(rest, "-n", _SED_PRINT_PATTERN)) is not None:
        return FileUse(files)
    if name == "sed" and _edits_stream(rest):
        return FileUse()
    if may_compute_value(words):
        return None
    has_pattern = name != "[[" and any(
        word.pattern for word in rest
    )  # a matching file name may act as an option or a variable name
    return FileUse() if _only_prints_words(name, [word.text for word in rest]) and not has_pattern else None


def _only_prints_words(name: str, texts: Sequence[str]) -> bool:
    """Return whether a command only prints output and does not read files."""
    if is_in_tables(name, "tests"):
        # An array index may contain a command; so may the variable that a word names.
        return not any(set("[$`") & set(text) for text in texts)
    if name == "printf":
        return texts[:1] != [] and not re.match(r"-", texts[0]) and not _computes_numbers(texts)
    if re.fullmatch(build_table_pattern("phrases", name), " ".join(texts)):
        return True
    return is_in_tables(name, "printing") and all(
        re.fullmatch(build_table_pattern("printing", name), text) for text in texts
    )


def _computes_numbers(texts: Sequence[str]) -> bool:
    """Return whether printf sets a variable (`%n`) or treats a word as a number, which some shells evaluate."""
    conversions = "".join(re.findall(r"%[-+ #'0-9.*$]*[hlLjztq]*([a-zA-Z])", texts[0]))
    numbers = set("diouxXeEfFgGaA*") & set(conversions) or "*" in texts[0]
    return "n" in conversions or (bool(numbers) and not all(re.fullmatch(r"-?[\d.]+", text) for text in texts[1:]))


def _find_read_files(name: str, rest: Sequence[ShellWord]) -> FileUse | None:
    """Return the files that a program reads; a search's first word is its pattern unless an option provides it."""
    texts = [word.text for word in rest]
    if name == "find" and any(re.fullmatch(build_table_pattern("find", "free"), text, re.DOTALL) for text in texts):
        return None
    if is_in_tables(name, "response_files") and any(text.startswith("@") for text in texts):
        return None
    if name == "diff":  # in a folder it reads all files
        files = _list_operands(rest)
        return FileUse((*files, *(_join_folder(one, ShellWord("*", pattern="*")) for one in files)))
    if not is_in_tables(name, "searches"):
        return FileUse(_list_operands(rest))
    end = texts.index("--") if "--" in texts else len(texts)
    options = [text for text in texts[:end] if text.startswith("-") and text != "-"]
    position = next(
        (position for position, text in enumerate(texts) if position > end or text == "-" or text[:1] != "-"),
        len(texts),
    )
    is_sure = all(re.fullmatch(build_table_pattern("searches", name), text, re.DOTALL) for text in options)
    if is_sure and not any(word.pattern for word in rest[position : position + 1]):
        rest = [*rest[:position], *rest[position + 1 :]]
    is_recursive = name == "rg" or any(re.match(r"-(?!-).*[rd]|--[rd]", text, re.DOTALL) for text in options)
    return FileUse(_list_operands(rest), is_recursive=is_recursive)


def _find_cd_use(rest: Sequence[ShellWord]) -> FileUse | None:
    return FileUse(tuple(rest)) if len(rest) == 1 and rest[0].text[:1] != "-" and rest[0].pattern is None else None


def _find_sed_files(rest: Sequence[ShellWord], option: str, script: re.Pattern[str]) -> tuple[ShellWord, ...] | None:
    """Return the files of a sed command that consists only of an option, a script and files."""
    texts = [word.text for word in rest]
    is_good = texts[:1] == [option] and any(map(script.fullmatch, texts[1:2])) and not _list_options(rest[2:])
    return tuple(rest[2:]) if is_good else None


def _edits_stream(rest: Sequence[ShellWord]) -> bool:
    """Return whether a sed command only prints its input, changed: options, one safe script and no files."""
    *options, script = [word.text for word in rest] or [""]
    is_plain = all(re.fullmatch(r"-[nErsuz]+", text) for text in options) and not any(word.pattern for word in rest)
    return is_plain and _SAFE_SED_PATTERN.fullmatch(script) is not None


def _find_jq_use(rest: Sequence[ShellWord]) -> FileUse | None:
    """Return the files that jq reads; the first word that is not an option is the query."""
    plain = [word for word in rest if not re.fullmatch(r"-[rcesSMCj]+", word.text)]
    is_good = (
        plain and not _list_options(plain) and plain[0].pattern is None and _SAFE_JQ_PATTERN.fullmatch(plain[0].text)
    )
    return FileUse(tuple(plain[1:])) if is_good else None


def _find_git_use(rest: Sequence[ShellWord]) -> FileUse | None:
    if not rest or not is_in_tables(rest[0].text, "git") or rest[0].pattern:
        return None
    verb, rest = rest[0].text, rest[1:]
    options = [text for text in _list_options(rest) if text != "--"]
    if not all(re.fullmatch(f"(?:{build_table_pattern('git', verb)})(?:=.*)?", text, re.DOTALL) for text in options):
        return None
    operands = [word for word in rest if word.text[:1] != "-"]
    if verb == "grep":  # what it searches for is no file
        values = [value for option, value in pairwise(rest) if option.text == "-e"]
        operands = [word for word in operands if word not in values] if values else operands[1:]
    if is_in_tables(verb, "listing") and operands and not {"-l", "--list", "--contains"} & set(options):
        return None
    is_less, is_whole = (
        any(re.match(build_table_pattern("git_detail", part), text) for text in options) for part in ("less", "more")
    )
    is_whole |= verb in ("diff", "show", "cat-file", "grep") and not is_less
    is_whole |= verb == "show" and any(
        re.search(r"[\da-fA-F]{4}", word.text) for word in operands
    )  # may be the hash of a file
    return FileUse((*operands, *_in_history(rest)), is_recursive=is_whole)


def _in_history(words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the files that words refer to in the git history: `HEAD:a`, `:0:a`."""
    return tuple(ShellWord(word.text[at + 1 :]) for word in words for at, char in enumerate(word.text) if char == ":")


def find_change_use(words: Sequence[ShellWord]) -> FileUse | None:
    """Return the files that a command changes, or None if it may do more than change files that it names."""
    name, rest = words[0].text, words[1:]
    if not all(word.is_known and word.pattern is None for word in rest):  # a file name may look like an option
        return None
    if is_in_tables(name, "changing"):
        return find_touched_files(words) if _has_harmless_options(rest, read_table("changing")[name]) else None
    files = _find_sed_files(rest, _IN_PLACE_OPTION, _SED_SUBSTITUTION_PATTERN) if name == "sed" else ()
    return FileUse(writes=files) if files else None


def find_touched_files(words: Sequence[ShellWord]) -> FileUse:
    """Return the known files that a command may read or change, for checking against deny and ask rules."""
    known = [word for word in words[1:] if word.is_known]
    name = get_program_name(words)
    operands = _list_operands(known)
    if name == "sed" and is_tame_sed(words):
        operands = tuple(word for word in operands if not _SAFE_SED_PATTERN.fullmatch(word.text))
    if name in AWK_NAMES and (awk := parse_awk([words[0], *known])):
        operands = awk.files
    if name in ("dd", "curl"):
        operands += list_values_of_marks(known)
    if name in ("cp", "mv", "install") and len(operands) > 1:  # into a folder, which may contain a link
        operands += tuple(_join_folder(operands[-1], word) for word in operands[:-1])
    reads = operands if is_in_tables(name, "files", "reading") else find_option_files("input", name, known)
    writes = operands if is_in_tables(name, "changing", "writing") else find_option_files("output", name, known)
    return FileUse(reads, (*writes, *find_written_operands(name, known)), is_recursive=name in ("rm", "mv"))


def _join_folder(folder: ShellWord, word: ShellWord) -> ShellWord:
    """Return the word for a file in a folder; either the file or the folder may be a pattern."""
    name = word.text.rstrip("/").rsplit("/", 1)[-1]
    path, is_pattern = f"{folder.text}/{name}", folder.pattern is not None or word.pattern is not None
    ending = name if word.pattern else glob.escape(name)
    pattern = f"{folder.pattern or glob.escape(folder.text)}/{ending}" if is_pattern else None
    return ShellWord(path, pattern=pattern, has_tilde=folder.has_tilde)


def is_tame_sed(words: Sequence[ShellWord]) -> bool:
    """Return whether a sed command neither writes other files nor runs commands."""
    texts = [word.text for word in words[1:]]
    plain = [text for text in texts if not re.fullmatch(rf"-[nErsuz]+|{_IN_PLACE_OPTION}(?:\.\w+)?|-e", text)]
    scripts = [text for before, text in pairwise(texts) if before == "-e"] or plain[:1]
    may_be_option = [word for word in words if word.pattern and word.text[0] in "*?["]
    has_option = any(text.startswith("-") for text in plain)
    return not may_be_option and not has_option and all(map(_SAFE_SED_PATTERN.fullmatch, scripts))


def _list_options(words: Sequence[ShellWord]) -> list[str]:
    return [word.text for word in words if word.text.startswith("-")]


def _list_operands(rest: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the words that may name files, including values attached to options."""
    found: list[ShellWord] = []
    for place, word in enumerate(rest):
        text = word.text
        if not text.startswith("-") or any(one.text == "--" for one in rest[:place]):
            found.append(word)
        if text.startswith("--"):
            found += [ShellWord(value)] if (value := text.partition("=")[2]) else []
        elif text.startswith("-"):
            found += [ShellWord(text[start:]) for start in range(2, min(len(text), _MAX_OPTION_CHARS))]
    return tuple(found)


def _has_harmless_options(rest: Sequence[ShellWord], forbidden: Sequence[str]) -> bool:
    """Return whether no option is, or may abbreviate, a forbidden one; values and words after `--` are checked too."""
    letters = {letter for one in forbidden if one[1] != "-" for letter in one[1:]}
    for word in rest:
        option, text = word.text.partition("=")[0], word.text
        if not text.startswith("-") or text == "--":
            continue
        if word.pattern and not re.match(r"--[a-z-]+=", text):
            return False
        if not text.startswith("--"):
            if len(text) > _MAX_OPTION_CHARS or letters & set(text[1:]):
                return False
        elif not _LONG_OPTION_PATTERN.fullmatch(option) or any(name.startswith(option) for name in forbidden):
            return False
    return True
