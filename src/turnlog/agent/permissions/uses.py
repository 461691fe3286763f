"""What the simple commands of a line do: which files they read and change, where they go, what they run in the end."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from turnlog.agent.permissions.access import HARMLESS
from turnlog.agent.permissions.commands import Part
from turnlog.agent.permissions.readonly import Use, reading, touched
from turnlog.agent.permissions.words import Word, program
from turnlog.agent.permissions.wrappers import RUNNING, TIMING, candidates, unwrapped

_MOST_NAMES = 500


def run_in_the_end(part: Part) -> str:
    """The name of what a command runs in the end."""
    return program(unwrapped(part.words, RUNNING | TIMING))


def goes(part: Part) -> Word | None:
    """Where a command goes, if it goes anywhere."""
    words = unwrapped(part.words, TIMING)
    if not words or words[0].text not in ("cd", "pushd"):
        return None
    targets = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "-@", "--")]
    return targets[0] if targets else Word("~", has_tilde=True)


def is_bare(folder: Path) -> bool:
    """Whether git would take a folder, or one above it, for a repository though it has no `.git`."""
    for path in (folder, *folder.parents):
        if (path / ".git").is_file() or (path / ".git" / "HEAD").exists():
            return False
        if (path / "HEAD").exists() and (path / "objects").exists():
            return True
    return False


def uses(part: Part) -> Iterator[Use]:
    """All that a command, or one that it runs, may read and change."""
    for words in filter(None, candidates(part.words)):
        yield touched(words)
        yield reading(words) or Use()
    for redirect in part.redirects:
        targets = (redirect.target or Word("…"),)
        yield Use(writes=targets) if redirect.is_written else Use(reads=targets)


def changes(part: Part) -> bool:
    """Whether a command plainly changes files, or is given those that it changes by another one."""
    given = (touched((word, Word("."))) for word in part.words if part.name in ("xargs", "parallel"))
    return any(word.text not in HARMLESS for use in (*given, *uses(part)) for word in use.writes)


def reads_unknown(part: Part) -> bool:
    """Whether a command that reads files does not say plainly which."""
    use = reading(part.words) if part.words else None
    is_reader = use is not None or touched((*part.words[:1], Word("."))).reads
    return bool(is_reader) and (not all(word.is_known for word in part.words) or bool(use and use.is_recursive))


def names(words: Sequence[Word], base: Path) -> Iterator[str]:
    """The files that words stand for, as the shell would put them in the place of a pattern."""
    for word in words:
        if word.pattern is None:
            yield word.text if word.has_tilde or not word.text.startswith("~") else f"./{word.text}"
            continue
        names = glob.iglob(word.pattern, root_dir=base, include_hidden=True)  # noqa: PTH207 - as the shell does it
        found = list(islice(names, _MOST_NAMES + 1))
        yield from found or [word.text]
        if len(found) > _MOST_NAMES:
            yield "/"  # too many to look at: as if all were meant
