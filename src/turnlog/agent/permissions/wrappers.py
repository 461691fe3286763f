"""Commands that run another command: what they run, and what the model is offered to have remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from turnlog.agent.permissions.commands import Line, Part, parse
from turnlog.agent.permissions.words import Word, split

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"})
EVALUATORS = frozenset({*SHELLS, *"eval exec source . alias trap let shopt enable set complete bind fc coproc".split()})
"""What they are given is run as shell code, or changes what later words mean."""
_RUNNERS = frozenset(
    "timeout time nice nohup stdbuf xargs command builtin exec env sudo doas setsid ionice chrt taskset watch parallel "
    "busybox unshare chroot strace ltrace script flock su runuser ! coproc then do else elif if while until {".split()
)
_INTERPRETERS = frozenset(
    "python python3 node perl ruby php lua deno bun ssh docker podman kubectl npx uvx pipx make awk find rm dd".split()
)
_SAFE_NAMES = frozenset(
    "NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE RUST_LOG FORCE_COLOR NO_COLOR TERM TZ CI GOOS "
    "GOARCH CGO_ENABLED COLUMNS LS_COLORS".split()
)
_SAFE_VALUE = re.compile(r"[\w.,:=+-]*", re.ASCII)
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?", re.ASCII)
_BUFFERING = re.compile(r"-[ioe](?:0|L|\d+[KMG]?)", re.ASCII)
_DEEPEST = 5
_MOST_WORDS = 100
"""Whoever puts more words before a command hides it."""


def has_safe_settings(part: Part) -> bool:
    """Whether what is set before a command only says how it talks."""
    for name, value in part.assigned:
        words = split(value) if value else [Word("")]
        if name not in _SAFE_NAMES or not words or len(words) != 1 or not words[0].is_known:
            return False
        if not _SAFE_VALUE.fullmatch(words[0].text):
            return False
    return True


def unwrapped(words: Sequence[Word], names: frozenset[str]) -> Sequence[Word]:
    """A command without what only says how it is run; the names say which such words count."""
    while words and words[0].text in names and (rest := _inner(words)):
        words = rest
    return words


TIMING = frozenset({"timeout", "command", "builtin"})
RUNNING = frozenset({"timeout", "time", "nice", "nohup", "stdbuf", "xargs", "command"})


def _inner(words: Sequence[Word]) -> Sequence[Word]:
    name, texts = words[0].text, [word.text for word in words]
    skip = 1
    if name == "timeout":
        while skip < len(texts) and texts[skip].startswith("-"):
            if texts[skip] not in ("-s", "-k", "--foreground", "--preserve-status", "-v"):
                return ()
            skip += 2 if texts[skip] in ("-s", "-k") else 1
        skip += 1 if skip < len(texts) and _DURATION.fullmatch(texts[skip]) else len(texts)
    elif name == "nice" and re.fullmatch(r"-\d+", texts[1] if len(texts) > 1 else ""):
        skip = 2
    elif name == "nice" and texts[1:2] == ["-n"] and re.fullmatch(r"-?\d+", "".join(texts[2:3])):
        skip = 3
    elif name == "stdbuf":
        while skip < len(texts) and _BUFFERING.fullmatch(texts[skip]):
            skip += 1
    rest = words[skip:]
    return () if not rest or rest[0].text.startswith("-") or not all(word.is_known for word in words[:skip]) else rest


def candidates(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """A command, and all that it may run in turn: for rules that forbid, so rather too many."""
    yield words
    name = words[0].text.rsplit("/", 1)[-1] if words else ""
    if name in _RUNNERS or name == "find":
        yield from (words[start:] for start in range(1, min(len(words), _MOST_WORDS)))


def nested(line: Line, depth: int = 0) -> Iterator[Part]:
    """All simple commands of a line, also those that a shell is given as a text."""
    for part in line.parts:
        yield part
        for words in candidates(part.words):
            text = _script(words)
            if text and depth < _DEEPEST:
                yield from nested(parse(text), depth + 1)


def _script(words: Sequence[Word]) -> str:
    """The shell code in the words of a command."""
    name, rest = words[0].text.rsplit("/", 1)[-1] if words else "", words[1:]
    if name == "eval":
        return " ".join(word.text for word in rest)
    if name in SHELLS:
        options = (place for place, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c[a-z]*", word.text))
        place = next(options, len(rest))
        return rest[place + 1].text if place + 1 < len(rest) else ""
    return ""


def is_opaque(part: Part) -> bool:
    """Whether it can't be told what a command runs."""
    inner = list(unwrapped(part.words, RUNNING))
    name = part._replace(words=tuple(inner)).name if inner else ""
    if name is None or name.rsplit("/", 1)[-1] in EVALUATORS:
        return True
    return len(part.words) > _MOST_WORDS and part.words[0].text.rsplit("/", 1)[-1] in {*_RUNNERS, "find"}


def suggestion(part: Part) -> str | None:
    """A rule that would allow a command, and others that are like it."""
    words = unwrapped(part.words, RUNNING)
    if part.assigned or not words or not all(word.is_known and word.pattern is None for word in words):
        return None
    texts = [word.text for word in words]
    written = " ".join([texts[0], *(word.raw for word in words[1:])])
    name = texts[0].rsplit("/", 1)[-1]
    if name in EVALUATORS or name in _RUNNERS or name in _INTERPRETERS:
        return f"Bash({written})" if "*" not in written and "\n" not in written else None
    longest = 3 if texts[1:2] in (["run"], ["exec"]) else 2
    told = [texts[0], *(text for text in texts[1:longest] if re.fullmatch(r"[a-z][a-z0-9:_-]*", text))]
    return f"Bash({' '.join(told)}:*)" if re.fullmatch(r"[\w./@+-]+", texts[0]) else None
