"""Where a line goes, and which files its words then mean."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.runners import TIMING_RUNNERS, strip_runners
from turnlog.agent.permissions.command.words import ShellWord
from turnlog.agent.permissions.paths import list_spellings

_MAX_FOLDERS = 16
_MAX_EXPANDED_NAMES = 500


class LineFolders:
    """The folders that a line may be in: where it begins, and where it goes from there."""

    def __init__(self, parts: Sequence[SimpleCommand], cwd: Path, home: Path) -> None:
        self.home = home
        self.targets = [target for target in map(_find_cd_target, parts) if target]
        self.bases = [cwd]
        for target in self.targets:
            there = [path for base in self.bases for path in list_spellings(self.expand_tilde(target), base, home)]
            self.bases = list(dict.fromkeys([*self.bases, *there]))[:_MAX_FOLDERS]

    @property
    def is_lost(self) -> bool:
        """Whether it can't be told which folders these are."""
        return len(self.bases) == _MAX_FOLDERS or any(
            not target.is_known or target.pattern or target.text.startswith("-") for target in self.targets
        )

    @property
    def move_count(self) -> int:
        """How many commands leave the folder in which the line begins."""
        start = self.bases[0]
        reached = [list_spellings(self.expand_tilde(target), start, self.home) for target in self.targets]
        # To bash, `link/..` is where the link lies, and not what its target lies in: both must be the same folder.
        return sum({os.path.realpath(path) for path in paths} != {os.path.realpath(start)} for paths in reached)

    def resolve_files(self, words: Sequence[ShellWord]) -> Iterator[tuple[str, Path]]:
        """The files that words stand for, each with the folder that its name is meant in."""
        for base in self.bases:
            for word in words:
                for name in self._expand_word(word, base):
                    yield (name if word.has_tilde or not name.startswith("~") else f"./{name}", base)

    def expand_tilde(self, word: ShellWord, text: str | None = None, home: str | None = None) -> str:
        """A word, or its pattern, with a home in the place of its tilde."""
        text = word.text if text is None else text
        has_home = word.has_tilde and (text == "~" or text.startswith("~/"))
        return f"{home or self.home}{text[1:]}" if has_home else text

    def _expand_word(self, word: ShellWord, base: Path) -> Iterator[str]:
        """What the shell would put in the place of a word."""
        if word.pattern is None:
            yield word.text
            return
        pattern = self.expand_tilde(word, word.pattern, glob.escape(str(self.home)))
        found = list(dict.fromkeys(_matching_names(pattern, base)))
        yield from found or [word.text]
        if len(found) > _MAX_EXPANDED_NAMES:
            yield "/"  # too many to look at: as if all were meant


def _matching_names(pattern: str, base: Path) -> Iterator[str]:
    """The files that fit a pattern of the shell; in some locales its `?` is a byte, in others a character."""
    names = glob.iglob(pattern, root_dir=base, include_hidden=True)  # noqa: PTH207 - as the shell does it
    yield from islice(names, _MAX_EXPANDED_NAMES + 1)
    if "?" in pattern:
        raw = glob.iglob(os.fsencode(pattern), root_dir=os.fsencode(base), include_hidden=True)  # noqa: PTH207
        yield from map(os.fsdecode, islice(raw, _MAX_EXPANDED_NAMES + 1))


def _find_cd_target(part: SimpleCommand) -> ShellWord | None:
    """Where a command goes, if it goes anywhere."""
    words = strip_runners(part.words, TIMING_RUNNERS)
    if not words or words[0].text not in ("cd", "pushd"):
        return None
    targets = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "-@", "--")]
    return targets[0] if targets else ShellWord("~", has_tilde=True)
