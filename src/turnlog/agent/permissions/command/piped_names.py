"""Finds where xargs reads only names of files in folders that can be checked: `find . -name '*.py' | xargs wc -l`.

Xargs adds words that are not known before. If the names come from a command that lists files (`find`, `git ls-files`,
`rg -l`), they are known to lie in the folders that it goes through. Then it is enough that no link among them leads
elsewhere, and that xargs reads each name as one word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from turnlog.agent.permissions.command.bash_line import SimpleCommand, parse_bash_line
from turnlog.agent.permissions.command.effects import find_read_only_use
from turnlog.agent.permissions.command.links import list_named_files
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name
from turnlog.agent.permissions.file_access import HARMLESS_DEVICES, FileListing

_HERE = ShellWord(".")
_NAME = ShellWord("./x")
"""Stands for a name that xargs adds; those that are listed never begin with a `-`."""
_XARGS_OPTIONS_PATTERN = re.compile(r"(?:-[0rt]+\s|-[nPL]\s?\d+\s|--null\s|--no-run-if-empty\s)*")
_FIND_FLAGS = frozenset("-print -print0 -depth -mount -xdev -daystart -empty -executable -readable -writable".split())
"""Words of an expression of find without a value."""
_BLANK_PATTERN = re.compile(r"""[\s'"\\]""")


class PipedNames(NamedTuple):
    folders: tuple[ShellWord, ...]
    """The folders in which all named files lie."""
    listing: FileListing = FileListing()


def find_piped_names(part: SimpleCommand) -> PipedNames | None:
    """Return where the names come from that xargs gives to a command that only reads; None if that is not certain."""
    inner = _find_reading_command(part)
    if inner is None or part.redirects or part.assigned:
        return None
    line = parse_bash_line(part.piped)
    targets = [redirect.target.text for one in line.parts for redirect in one.redirects]
    if line.doubts or line.has_loop or not line.parts or not set(targets) <= HARMLESS_DEVICES:
        return None
    source, *filters = line.parts
    names = None if source.assigned else _find_listed_names(source.words)
    if names is None or not all(map(_only_filters, filters)):
        return None
    options = [word.text for word in part.words[: len(part.words) - len(inner)]]
    if not any(re.fullmatch("-[rt]*0[rt]*|--null", text) for text in options):
        return None if any(_BLANK_PATTERN.search(word.text) for word in names.folders) else names
    has_zeros = not filters and source.words[-1].text == "-print0"
    return names._replace(listing=names.listing._replace(is_split=False)) if has_zeros else None


def _find_reading_command(part: SimpleCommand) -> Sequence[ShellWord] | None:
    """Return the command that xargs runs if it only reads the files that are added to it."""
    words = part.words
    if not words or words[0].text != "xargs" or not are_words_known(words):
        return None
    match = _XARGS_OPTIONS_PATTERN.match("".join(f"{word.text} " for word in words[1:]))
    inner = words[1 + match[0].count(" ") :] if match else ()
    if not inner or not is_in_tables(inner[0].text, "fed") or not all(word.pattern is None for word in inner):
        return None
    use = find_read_only_use([*inner, _NAME])
    return inner if use is not None and (_NAME in use.reads or is_in_tables(inner[0].text, "printing")) else None


def _find_listed_names(words: Sequence[ShellWord]) -> PipedNames | None:
    """Return the files that a command lists, or None if it prints anything else."""
    name, texts = get_program_name(words), [word.text for word in words[1:]]
    if not words or words[0].text != name or not are_words_known(words) or find_read_only_use(words) is None:
        return None
    if name == "find":
        if any(text.startswith(("-printf", "-ls")) for text in texts):
            return None
        start = next((at for at, text in enumerate(texts, 1) if text[:1] in ("-", "(", "!")), len(words))
        return PipedNames(tuple(words[1:start]) or (_HERE,), _find_listing([word.text for word in words[start:]]))
    is_listing = re.fullmatch(build_table_pattern("listing_files", name), " ".join(texts), re.DOTALL) is not None
    is_here = not any(".." in text or text.startswith(("/", "~")) for text in texts)
    return PipedNames((_HERE,), FileListing(has_links=name == "git")) if is_listing and is_here else None


def _find_listing(texts: Sequence[str]) -> FileListing:
    """Return which files an expression of find lists; with alternatives and negations, it may be any."""
    if {"-o", "-or", ",", "!", "-not", "("} & set(texts):
        return FileListing()
    pairs: list[tuple[str, str]] = []
    rest = list(texts)
    while rest:
        text = rest.pop(0)
        if text in _FIND_FLAGS:
            continue
        if not text.startswith("-") or not rest:  # it is not clear which words belong together
            return FileListing()
        pairs.append((text, rest.pop(0)))
    patterns = [value for option, value in pairs if option == "-name" and not set("[\\") & set(value)]
    return FileListing(patterns[0] if patterns else "*", has_links=("-type", "f") not in pairs)


def _only_filters(part: SimpleCommand) -> bool:
    """Return whether a command only leaves out or sorts lines of its input."""
    name, texts = get_program_name(part.words), [word.text for word in part.words[1:]]
    is_filter = re.fullmatch(build_table_pattern("filters", name), " ".join(texts), re.DOTALL) is not None
    return is_filter and find_read_only_use(part.words) is not None and not any(list_named_files(part))
