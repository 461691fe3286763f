"""Handles commands that run another command, and suggests rules for permission questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile

from turnlog.agent.permissions.command.bash_line import BashLine, SimpleCommand, parse_bash_line
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.variables import may_compute_value, sets_integer_variable
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name, join_words

_MAX_SCRIPT_NESTING = 5
_MAX_RUNNER_WORDS = 100
"""More words than this before a command count as an attempt to hide it."""
TIMING_RUNNERS = frozenset({"timeout", "command", "builtin"})
TRANSPARENT_RUNNERS = frozenset({"timeout", "time", "nice", "nohup", "stdbuf", "xargs", "command", "builtin"})
_UNSEEN_WORD = ShellWord("…", is_known=False, raw="…")


def strip_runners(words: Sequence[ShellWord], names: frozenset[str]) -> Sequence[ShellWord]:
    """Strip the wrappers listed in `names`, which only change how a command runs."""
    while words and words[0].text in names and (rest := _find_inner_command(words)):
        words = rest
    return words


def _find_inner_command(words: Sequence[ShellWord]) -> Sequence[ShellWord]:
    """Return the command that a wrapper runs, or nothing if that is unclear. For xargs, an unknown word is appended."""
    name = words[0].text
    texts = takewhile(lambda text: re.fullmatch(r"\S+", text), (word.text for word in words[1:]))
    match = re.match(build_table_pattern("wrappers", name), "".join(f"{text} " for text in texts))
    skip = 1 + match[0].count(" ") if match else len(words)
    rest = words[skip:]
    if not rest or rest[0].text.startswith("-") or not are_words_known(words[:skip]):
        return ()
    return [*rest, _UNSEEN_WORD] if name == "xargs" else rest


def list_possible_commands(words: Sequence[ShellWord]) -> Iterator[Sequence[ShellWord]]:
    """Yield a command and every command that it may run; for deny and ask rules, too many is better than too few."""
    yield words
    if is_in_tables(get_program_name(words), "runners"):
        yield from (words[start:] for start in range(1, min(len(words), _MAX_RUNNER_WORDS)))


def iterate_nested_commands(line: BashLine, depth: int = 0) -> Iterator[SimpleCommand]:
    """Yield all simple commands in a line, including those in scripts that are passed to a shell as text."""
    for part in line.parts:
        yield part
        yield from _iterate_script_commands(map(find_script, list_possible_commands(part.words)), depth)
    yield from _iterate_script_commands(_find_index_scripts(line.text), depth)


def iterate_argument_commands(part: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the commands in those arguments of a command that may be code because they contain blanks."""
    for text in list_argument_texts(part):
        if re.search(r"\s", text):
            yield from iterate_nested_commands(parse_bash_line(text))


def list_argument_texts(part: SimpleCommand) -> list[str]:
    """Return a command's arguments, and the values of the variables that are set for it."""
    return [word.text for word in part.words[1:]] + [value for _, value in part.assigned]


def _iterate_script_commands(scripts: Iterable[str], depth: int) -> Iterator[SimpleCommand]:
    for script in filter(None, scripts) if depth < _MAX_SCRIPT_NESTING else ():
        yield from iterate_nested_commands(parse_bash_line(script), depth + 1)


def find_script(words: Sequence[ShellWord]) -> str:
    """Return the shell code in a command's words; a program name with a space is shell code (`env -S`, `ssh`)."""
    name, rest = get_program_name(words), words[1:]
    if name == "eval":
        return " ".join(word.text for word in rest)
    if is_in_tables(name, "shells"):
        scripts = (word.text for before, word in pairwise(rest) if re.fullmatch(r"-[a-z]*c[a-z]*", before.text))
        return next(scripts, "")
    is_line = words and words[0].is_known and re.search(r"\s", words[0].text)
    return re.sub(r"^-\w", "", words[0].text) if is_line else ""


def _find_index_scripts(text: str) -> Iterator[str]:
    """Yield the commands that bash runs to evaluate an array index, even a quoted one: `test -v 'a[$(b)]'`."""
    if "[" in text:
        yield from ("".join(found) for found in re.findall(r"\$\(([^)]*)|`([^`]*)", text[text.index("[") :]))


def is_opaque_command(part: SimpleCommand) -> bool:
    """Return whether it can't be determined what a command runs."""
    inner = strip_runners(part.words, TRANSPARENT_RUNNERS)
    is_unread = any(not word.is_known and not word.raw for word in part.words)
    if is_unread or (inner and not inner[0].is_plain) or is_in_tables(get_program_name(inner), "evaluators"):
        return True
    if sets_integer_variable(part) or may_compute_value(inner):
        return True
    is_long = len(part.words) > _MAX_RUNNER_WORDS and is_in_tables(get_program_name(part.words), "runners")
    return is_long or any(
        is_in_tables(get_program_name(words), "shells") for words in list_possible_commands(part.words)
    )


def runs_anything(words: Sequence[ShellWord]) -> bool:
    """Return whether a command can run any program, so that a wildcard rule for it would allow everything."""
    name = get_program_name(words)
    return is_in_tables(name, "shells", "evaluators", "runners") or is_in_tables(
        name.rstrip("0123456789."), "interpreters"
    )


def suggest_rules(part: SimpleCommand) -> tuple[str, ...]:
    """Suggest a rule that allows a command, with a wildcard if it is clear what the wildcard covers."""
    words = strip_runners(part.words, TRANSPARENT_RUNNERS)
    if part.assigned or not words or not all(word.is_known and word.pattern is None for word in words):
        return ()
    texts = [word.text for word in words]
    longest = 3 if is_in_tables(" ".join(texts[1:2]), "fetching") else 2
    subcommands = [text for text in texts[1:longest] if re.fullmatch(r"[a-z][a-z0-9:_-]*", text)]
    is_plain = re.fullmatch(r"[\w./@+-]+", texts[0]) and len(subcommands) == longest - 1
    if is_plain and not runs_anything(words):
        return (f"Bash({' '.join([texts[0], *subcommands])}:*)",)
    text = join_words(words)
    return (f"Bash({text})",) if not set("*\n") & set(text) else ()
