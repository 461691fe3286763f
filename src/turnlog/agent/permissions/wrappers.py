"""Commands that run another command: what they run, and which rule the person is offered to have remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from turnlog.agent.permissions.commands import Line, Part, parse
from turnlog.agent.permissions.words import Word, program, split, written

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"})
EVALUATORS = frozenset({*SHELLS, *"eval exec source . alias trap let shopt enable set complete bind fc coproc".split()})
"""What they are given is run as shell code, or changes what later words mean."""
_RUNNERS = frozenset(
    "timeout gtimeout time nice nohup stdbuf xargs command builtin exec env sudo doas setsid ionice chrt taskset watch "
    "parallel busybox unshare nsenter chroot strace ltrace script flock su runuser setpriv pkexec gosu fakeroot "
    "prlimit systemd-run caffeinate ssh entr npx uvx uv pipx poetry pipenv bundle direnv mise xvfb-run find ! coproc "
    "then do else elif if while until {".split()
)
_INTERPRETERS = frozenset(
    "python python3 node perl ruby php lua deno bun docker podman kubectl make awk sed rm dd".split()
)
_SAFE_NAMES = frozenset(
    "NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE RUST_LOG FORCE_COLOR NO_COLOR TERM TZ CI GOOS "
    "GOARCH CGO_ENABLED COLUMNS LS_COLORS".split()
)
_SAFE_VALUE = re.compile(r"[\w.,:=+-]*", re.ASCII)
_OPTIONS = {
    "timeout": r"(?:-[sk] \S+ |--foreground |--preserve-status |-v )*\d+(?:\.\d+)?[smhd]? ",
    "nice": r"(?:-\d+ |-n -?\d+ )?",
    "stdbuf": r"(?:-[ioe](?:0|L|\d+[KMG]?) )*",
}
"""What stands between such a command and the one that it runs, a blank behind each word; for others nothing does."""
_DEEPEST = 5
_MOST_WORDS = 100
"""Whoever puts more words before a command hides it."""
TIMING = frozenset({"timeout", "command", "builtin"})
RUNNING = frozenset({"timeout", "time", "nice", "nohup", "stdbuf", "xargs", "command"})
_MORE = Word("…", is_known=False, raw="…")


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


def _inner(words: Sequence[Word]) -> Sequence[Word]:
    """What a command runs; nothing if that is in doubt. To what xargs runs, more is added that nobody sees before."""
    name = words[0].text
    texts = takewhile(lambda text: re.fullmatch(r"\S+", text), (word.text for word in words[1:]))
    told = re.match(_OPTIONS.get(name, ""), "".join(f"{text} " for text in texts))
    skip = 1 + told[0].count(" ") if told else len(words)
    rest = words[skip:]
    if not rest or rest[0].text.startswith("-") or not all(word.is_known for word in words[:skip]):
        return ()
    return [*rest, _MORE] if name == "xargs" else rest


def candidates(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """A command, and all that it may run in turn: for rules that forbid, so rather too many."""
    yield words
    if program(words) in _RUNNERS:
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
    rest = words[1:]
    if program(words) == "eval":
        return " ".join(word.text for word in rest)
    options = (place for place, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c[a-z]*", word.text))
    place = next(options, len(rest)) if program(words) in SHELLS else len(rest)
    return rest[place + 1].text if place + 1 < len(rest) else ""


def is_opaque(part: Part) -> bool:
    """Whether it can't be told what a command runs."""
    inner = unwrapped(part.words, RUNNING)
    name = part._replace(words=tuple(inner)).name if inner else ""
    is_unread = any(not word.is_known and not word.raw for word in part.words)
    if is_unread or name is None or name.rsplit("/", 1)[-1] in EVALUATORS:
        return True
    return len(part.words) > _MOST_WORDS and program(part.words) in _RUNNERS


def suggestion(part: Part) -> str | None:
    """A rule that would allow a command, and others that are like it if it is plain what those would be."""
    words = unwrapped(part.words, RUNNING)
    if part.assigned or not words or not all(word.is_known and word.pattern is None for word in words):
        return None
    texts = [word.text for word in words]
    longest = 3 if texts[1:2] in (["run"], ["exec"]) else 2
    told = [text for text in texts[1:longest] if re.fullmatch(r"[a-z][a-z0-9:_-]*", text)]
    is_plain = re.fullmatch(r"[\w./@+-]+", texts[0]) and len(told) == longest - 1
    if is_plain and program(words) not in EVALUATORS | _RUNNERS | _INTERPRETERS:
        return f"Bash({' '.join([texts[0], *told])}:*)"
    text = written(words)
    return f"Bash({text})" if not set("*\n") & set(text) else None
