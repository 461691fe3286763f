"""Whether a file may be read or changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.agent.permissions.decision import ALLOWED, Decision, Mode
from turnlog.agent.permissions.git_programs import is_run_by_git
from turnlog.agent.permissions.paths import is_of_process, is_protected, lies_within, matches, spellings
from turnlog.agent.permissions.rules import EDITORS, READERS, Rule, Rules
from turnlog.agent.settings import Kind
from turnlog.agent.tools.tool import Place

HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_ELSEWHERE = "it lies outside of the working folders"
_MOST = 2000
"""So many files of a folder are held against the rules."""


class Access(Struct):
    """The rules for files, in one place and one mode."""

    rules: Rules
    place: Place
    home: Path
    mode: Mode = "default"
    further: Sequence[Path] = ()
    """Folders that may be read and not changed: what belongs to the session itself."""
    is_trusted: bool = True
    """Whether a person trusts the folder, so that the settings of its repository are theirs."""
    spelled: dict[tuple[str, Path], tuple[Path, ...]] = {}
    """The names of files that were looked at for this decision."""

    @property
    def folders(self) -> list[Path]:
        """The working folders."""
        return [self.place.root, *self.place.further]

    def names(self, name: str, base: Path | None = None) -> tuple[Path, ...]:
        """All names of a file."""
        key = (name, base or self.place.cwd)
        if key not in self.spelled:
            self.spelled[key] = spellings(*key, self.home)
        return self.spelled[key]

    def read(self, name: str, base: Path | None = None, tool: str = "Read") -> Decision:
        """Whether a file may be read."""
        paths = self.names(name, base)
        if found := self._spoken("read", paths, READERS, tool):
            return found
        if self._all(paths, "Read", tool) or all(lies_within(path, [*self.folders, *self.further]) for path in paths):
            return ALLOWED
        return _asking(f"Reading {_shown(paths)}", _ELSEWHERE, _suggested("Read", paths[-1].parent))

    def write(self, name: str, base: Path | None = None, tool: str = "Edit") -> Decision:
        """Whether a file may be changed."""
        return self._write(self.names(name, base), tool)._replace(changes=True)

    def _write(self, paths: tuple[Path, ...], tool: str) -> Decision:
        if found := self._spoken("change", paths, EDITORS, tool or "Edit"):
            return found
        if any(is_protected(path) or is_run_by_git(path, self.place.root, self.home) for path in paths):
            return _asking(f"Changing {_shown(paths)}", "it decides what other programs run")
        is_inside = all(lies_within(path, self.folders) for path in paths)
        if self._all(paths, "Edit", tool) or (is_inside and self.mode == "acceptEdits"):
            return ALLOWED
        why = "no rule allows it" if is_inside else _ELSEWHERE
        return _asking(f"Changing {_shown(paths)}", why, _suggested("Edit", paths[-1].parent))

    def write_by_command(self, name: str, base: Path | None = None) -> Decision:
        """Whether a command may write to a file: a rule that names no files speaks of the tools that edit alone."""
        return ALLOWED if name in HARMLESS else self.write(name, base, "")

    def write_within(self, name: str, base: Path) -> Decision:
        """Whether a command that is allowed may write to a file: within the working folders it may."""
        return replace(self, mode="acceptEdits").write_by_command(name, base)

    def remove(self, name: str, base: Path) -> Decision:
        """Whether rules forbid to remove or move a file or folder, because of anything that is in it."""
        tools = EDITORS | READERS
        if not (self.rules.specific("deny", tools) or self.rules.specific("ask", tools)):
            return ALLOWED
        number = 0
        for folder, folders, files in os.walk(os.path.normpath(base / name)):
            number += len(folders) + len(files)
            if number > _MOST:
                untold = f"It can't be told whether a rule forbids to change files in {name}."
                return Decision("ask", untold, is_firm=True)
            for path in (Path(folder, one) for one in (*folders, *files)):
                for kind in ("deny", "ask"):
                    if rule := self._any(kind, [path], tools):
                        return Decision(kind, f"Changing {path} needs permission: {rule}.", is_firm=True)
        return ALLOWED

    def is_hidden(self, path: Path) -> bool:
        """Whether a rule forbids reading a file, so that a search must not show it."""
        paths = spellings(str(path), self.place.cwd, self.home)
        return any(map(is_of_process, paths)) or self._any("deny", paths, READERS) is not None

    def hides(self) -> bool:
        """Whether any rule forbids or asks about reading some files."""
        return bool(self.rules.specific("deny", READERS) or self.rules.specific("ask", READERS))

    def _spoken(self, verb: str, paths: Sequence[Path], kinds: frozenset[str], tool: str) -> Decision | None:
        """What rules say that forbid or ask; what must not be read must not be changed either."""
        if rule := self._any("deny", paths, kinds | READERS) or self.rules.bare("deny", tool):
            return Decision("deny", f"Permission to {verb} {paths[0]} has been denied by the rule {rule}.")
        if rule := self._any("ask", paths, kinds) or self.rules.bare("ask", tool):
            return Decision("ask", f"The rule {rule} wants it to be asked whether to {verb} {paths[0]}.", is_firm=True)
        return None

    def _any(self, kind: Kind, paths: Sequence[Path], tools: frozenset[str]) -> Rule | None:
        """What forbids needs one name of the file, from any folder that a pattern may begin in."""
        bases = [self.place.root, self.place.cwd]
        rules = self.rules.specific(kind, tools)
        return next((rule for rule in rules for path in paths if matches(rule, path, bases, self.home)), None)

    def _all(self, paths: Sequence[Path], kind: str, tool: str) -> bool:
        """What allows needs all names of the file: a link must not lead out of what is allowed."""
        if self.rules.bare("allow", tool):
            return True
        rules = self.rules.specific("allow", {kind, tool})
        return all(any(matches(rule, path, [self.place.root], self.home) for rule in rules) for path in paths)


def _asking(doing: str, why: str, suggested: tuple[str, ...] = ()) -> Decision:
    return Decision("ask", f"{doing} needs permission: {why}.", suggested)


def _shown(paths: tuple[Path, ...]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} (a link to {paths[-1]})"


def _suggested(tool: str, folder: Path) -> tuple[str, ...]:
    """A rule for all of a folder; nothing if it is near the root, or its name would be a pattern."""
    is_plain = len(folder.parts) > 2 and not set("*?[]!#()\\\n") & set(folder.as_posix())
    return (f"{tool}(/{folder.as_posix()}/**)",) if is_plain else ()
