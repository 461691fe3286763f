"""Commands that run another command: what they run, and which rule the person is offered to have remembered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile

from turnlog.agent.permissions.command.line import Line, Part, parse
from turnlog.agent.permissions.command.tables import fitting, is_one
from turnlog.agent.permissions.command.variables import may_compute, sets_integer
from turnlog.agent.permissions.command.words import Word, are_known, program, written

_DEEPEST = 5
_MOST_WORDS = 100
"""Whoever puts more words before a command hides it."""
TIMING = frozenset({"timeout", "command", "builtin"})
RUNNING = frozenset({"timeout", "time", "nice", "nohup", "stdbuf", "xargs", "command", "builtin"})
_MORE = Word("…", is_known=False, raw="…")


def unwrapped(words: Sequence[Word], names: frozenset[str]) -> Sequence[Word]:
    """A command without what only says how it is run; the names say which such words count."""
    while words and words[0].text in names and (rest := _inner(words)):
        words = rest
    return words


def _inner(words: Sequence[Word]) -> Sequence[Word]:
    """What a command runs; nothing if that is in doubt. To what xargs runs, more is added that nobody sees before."""
    name = words[0].text
    texts = takewhile(lambda text: re.fullmatch(r"\S+", text), (word.text for word in words[1:]))
    told = re.match(fitting("wrappers", name), "".join(f"{text} " for text in texts))
    skip = 1 + told[0].count(" ") if told else len(words)
    rest = words[skip:]
    if not rest or rest[0].text.startswith("-") or not are_known(words[:skip]):
        return ()
    return [*rest, _MORE] if name == "xargs" else rest


def candidates(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """A command, and all that it may run in turn: for rules that forbid, so rather too many."""
    yield words
    if is_one(program(words), "runners"):
        yield from (words[start:] for start in range(1, min(len(words), _MOST_WORDS)))


def nested(line: Line, depth: int = 0) -> Iterator[Part]:
    """All simple commands of a line, also those that a shell is given as a text."""
    for part in line.parts:
        yield part
        yield from _within(map(find_script, candidates(part.words)), depth)
    yield from _within(_hidden(line.text), depth)


def _within(scripts: Iterable[str], depth: int) -> Iterator[Part]:
    for script in filter(None, scripts) if depth < _DEEPEST else ():
        yield from nested(parse(script), depth + 1)


def find_script(words: Sequence[Word]) -> str:
    """The shell code in the words of a command; a name with a blank in it is a line of its own (`env -S`, `ssh`)."""
    name, rest = program(words), words[1:]
    if name == "eval":
        return " ".join(word.text for word in rest)
    if is_one(name, "shells"):
        given = (word.text for before, word in pairwise(rest) if re.fullmatch(r"-[a-z]*c[a-z]*", before.text))
        return next(given, "")
    is_line = words and words[0].is_known and re.search(r"\s", words[0].text)
    return re.sub(r"^-\w", "", words[0].text) if is_line else ""


def _hidden(text: str) -> Iterator[str]:
    """What bash runs to compute an index, also where it is quoted: `test -v 'a[$(b)]'`."""
    if "[" in text:
        yield from ("".join(found) for found in re.findall(r"\$\(([^)]*)|`([^`]*)", text[text.index("[") :]))


def is_opaque(part: Part) -> bool:
    """Whether it can't be told what a command runs."""
    inner = unwrapped(part.words, RUNNING)
    is_unread = any(not word.is_known and not word.raw for word in part.words)
    if is_unread or (inner and not inner[0].is_plain) or is_one(program(inner), "evaluators"):
        return True
    if sets_integer(part) or may_compute(inner):
        return True
    is_long = len(part.words) > _MOST_WORDS and is_one(program(part.words), "runners")
    return is_long or any(is_one(program(words), "shells") for words in candidates(part.words))


def runs_unchecked(part: Part) -> bool:
    """Whether a command is told to run, or to read as code, what can't be checked."""
    inner = unwrapped(part.words, RUNNING)
    if len(inner) > 1 and inner[0].text in ("timeout", "nice", "stdbuf"):
        return True
    return any(
        re.fullmatch(fitting("unchecked", program(words)), word.text)
        for words in candidates(part.words)
        for word in words[1:]
    )


def runs_anything(words: Sequence[Word]) -> bool:
    """Whether a command may be told to run whatever one likes: a rule for many uses of it would allow everything."""
    name = program(words)
    return is_one(name, "shells", "evaluators", "runners") or is_one(name.rstrip("0123456789."), "interpreters")


def suggestion(part: Part) -> tuple[str, ...]:
    """The rule that would allow a command, and others that are like it if it is plain what those would be."""
    words = unwrapped(part.words, RUNNING)
    if part.assigned or not words or not all(word.is_known and word.pattern is None for word in words):
        return ()
    texts = [word.text for word in words]
    longest = 3 if is_one(" ".join(texts[1:2]), "fetching") else 2
    told = [text for text in texts[1:longest] if re.fullmatch(r"[a-z][a-z0-9:_-]*", text)]
    is_plain = re.fullmatch(r"[\w./@+-]+", texts[0]) and len(told) == longest - 1
    if is_plain and not runs_anything(words):
        return (f"Bash({' '.join([texts[0], *told])}:*)",)
    text = written(words)
    return (f"Bash({text})",) if not set("*\n") & set(text) else ()
