"""Finds the files that a command names other than as its plain words: after options and marks, or by their place.

For example, `curl -o a @b file:///c`, `date -f a`, `uniq a b`, `tar cf a`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from urllib.parse import unquote

from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.words import ShellWord

_FILE_MARK_PATTERN = re.compile("[=@<]")
_FILE_URL_PATTERN = re.compile(r"file:(?://[^/]*)?(/?.*)", re.IGNORECASE | re.DOTALL)
_MAX_FILE_MARKS = 50
_TAR_VALUED_LETTERS = "fbCTXLKNVHgIF"
"""Letters of options with a value."""


def find_option_files(table: str, name: str, words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the files that options tell a command to read or write."""
    return _find_matching_values(build_table_pattern(table, name), words)


def _find_matching_values(pattern: str, words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the values of the options that match a pattern: attached ones, or the next word."""
    found: list[ShellWord] = []
    names = re.findall(r"--[a-z][a-z-]+", pattern)
    for word, following in pairwise([*words, ShellWord("")]):
        if match := re.fullmatch(pattern, word.text, re.DOTALL):
            attached = "".join(filter(None, match.groups()))
        elif shortens_option(word.text, names):
            attached = word.text.partition("=")[2]
        else:
            continue
        found.append(ShellWord(attached) if attached else following)
    return tuple(found)


def shortens_option(text: str, names: Sequence[str]) -> bool:
    """Return whether a word is, or abbreviates, one of the long options."""
    option = text.partition("=")[0]
    return len(option) > 2 and option.startswith("--") and any(name.startswith(option) for name in names)


def is_valued_option(name: str, text: str) -> bool:
    """Return whether the word after an option is its value and no file."""
    return re.fullmatch(build_table_pattern("valued", name), text) is not None


def list_values_of_marks(words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the files that a mark precedes: `if=a`, `@a`, `x=@a;type=b`, `x=<a`, `x=@a,b`, `file:///a`."""
    found: list[str] = []
    for word in words:
        found += [unquote(match[1]) for match in _FILE_URL_PATTERN.finditer(word.text)]
        values = [word.text[match.end() :] for match in islice(_FILE_MARK_PATTERN.finditer(word.text), _MAX_FILE_MARKS)]
        pieces = [piece for value in values for piece in (value, *re.split("[;,]", value)[:_MAX_FILE_MARKS])]
        found += [piece.strip('"') for piece in pieces]
    return tuple(ShellWord(text) for text in dict.fromkeys(found) if text)


def find_written_operands(name: str, words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the words that name files to write by their place: `uniq a b`, `tar cf a`, `rsync a b`."""
    values = {id(value) for option, value in pairwise(words) if is_valued_option(name, option.text)}
    plain = [word for word in words if id(word) not in values and (word.text[:1] != "-" or word.text == "-")]
    if is_in_tables(name, "writing_first"):
        return tuple(plain[:1])
    if is_in_tables(name, "writing_second"):
        return tuple(plain[1:2])
    if is_in_tables(name, "writing_last"):
        return tuple(word for word in plain[1:][-1:] if not re.match(r"[^/]*:", word.text))
    if name in ("tar", "bsdtar"):
        return _find_tar_output(words)
    if name == "git" and plain and is_in_tables(plain[0].text, "git_output"):
        pattern = build_table_pattern("git_output", plain[0].text)
        return _find_matching_values(pattern, words)
    return ()


def _find_tar_output(words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """Return the archive that tar creates, or the folder into which it extracts one."""
    texts = [word.text for word in words]
    mode = "".join(text for at, text in enumerate(texts) if re.match(r"-\w", text) or (at == 0 and text[:1] != "-"))
    long = " ".join(text for text in texts if text.startswith("--"))
    if not re.search("[cruA]", mode) and not re.search(r"--(?:cr|app|up|cat|conc|del)", long):
        return _find_matching_values(r"-\w*C(.*)|--directory(?:=(.*))?|--one-top-level=(.*)", words)
    if re.fullmatch(r"\w+", texts[0]):  # letters without `-` take their values from the next words, in their order
        taken = [letter for letter in texts[0] if letter in _TAR_VALUED_LETTERS]
        return tuple(words[1:][taken.index("f") :][:1]) if "f" in taken else ()
    return _find_matching_values(r"-\w*f(.*)|--fil?e?(?:=(.*))?", words)
