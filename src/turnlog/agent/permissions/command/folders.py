"""Tracks the folders that a line changes to and the files that its words refer to as a result."""

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
    """The folders that a line may be in: where it starts and where it changes to."""

    def __init__(self, parts: Sequence[SimpleCommand], cwd: Path, home: Path) -> None:
        self.home = home
        self.targets = [target for target in map(_find_cd_target, parts) if target]
        self.bases = [cwd]
        for target in self.targets:
            there = [path for base in self.bases for path in list_spellings(self.expand_tilde(target), base, home)]
            self.bases = list(dict.fromkeys([*self.bases, *there]))[:_MAX_FOLDERS]

    @property
    def is_lost(self) -> bool:
        """Whether some of the folders are unknown."""
        return len(self.bases) == _MAX_FOLDERS or any(
            not target.is_known or target.pattern or target.text.startswith("-") for target in self.targets
        )

    @property
    def move_count(self) -> int:
        """The number of commands that change to a folder other than the one in which the line starts."""
        start = self.bases[0]
        reached = [list_spellings(self.expand_tilde(target), start, self.home) for target in self.targets]
        # In bash, `link/..` is the folder of the link, not of its target: both must be the same folder.
        return sum({os.path.realpath(path) for path in paths} != {os.path.realpath(start)} for paths in reached)

    def resolve_files(self, words: Sequence[ShellWord]) -> Iterator[tuple[str, Path]]:
        """Yield the files that words refer to, each with the folder that it is relative to."""
        for base in self.bases:
            for word in words:
                for name in self._expand_word(word, base):
                    yield (name if word.has_tilde or not name.startswith("~") else f"./{name}", base)

    def expand_tilde(self, word: ShellWord, text: str | None = None, home: str | None = None) -> str:
        """Return a word or its pattern with the tilde expanded."""
        text = word.text if text is None else text
        has_home = word.has_tilde and (text == "~" or text.startswith("~/"))
        return f"{home or self.home}{text[1:]}" if has_home else text

    def _expand_word(self, word: ShellWord, base: Path) -> Iterator[str]:
        """Yield the words to which the shell expands a word."""
        if word.pattern is None:
            yield word.text
            return
        pattern = self.expand_tilde(word, word.pattern, glob.escape(str(self.home)))
        found = list(dict.fromkeys(_matching_names(pattern, base)))
        yield from found or [word.text]
        if len(found) > _MAX_EXPANDED_NAMES:
            yield "/"  # too many to check: treat it as all files


def _matching_names(pattern: str, base: Path) -> Iterator[str]:
    """Yield the files that match a shell pattern; `?` is a byte in some locales and a character in others."""
    names = glob.iglob(pattern, root_dir=base, include_hidden=True)  # noqa: PTH207 - as the shell does it
    yield from islice(names, _MAX_EXPANDED_NAMES + 1)
    if "?" in pattern:
        raw = glob.iglob(os.fsencode(pattern), root_dir=os.fsencode(base), include_hidden=True)  # noqa: PTH207
        yield from map(os.fsdecode, islice(raw, _MAX_EXPANDED_NAMES + 1))


def _find_cd_target(part: SimpleCommand) -> ShellWord | None:
    """Return the folder that a command changes to, if any."""
    words = strip_runners(part.words, TIMING_RUNNERS)
    if not words or words[0].text not in ("cd", "pushd"):
        return None
    targets = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "-@", "--")]
    return targets[0] if targets else ShellWord("~", has_tilde=True)
