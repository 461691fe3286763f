"""Whether a file may be read or changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from turnlog.agent.permissions.decision import Mode
from turnlog.agent.permissions.modes import ALLOWED, Finding
from turnlog.agent.permissions.paths import is_protected, lies_within, matches, spellings
from turnlog.agent.permissions.rules import EDITORS, READERS, Rule, Rules
from turnlog.agent.settings import Kind
from turnlog.agent.tools.tool import Place

_HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass
class Access:
    """The rules for files, in one place and one mode."""

    rules: Rules
    place: Place
    home: Path
    mode: Mode = "default"
    further: Sequence[Path] = ()
    """Folders that may be read and not changed: what belongs to the session itself."""

    @property
    def folders(self) -> list[Path]:
        """The working folders."""
        return [self.place.root, *self.place.further]

    def read(self, name: str, base: Path | None = None, tool: str = "Read") -> Finding:
        """Whether a file may be read."""
        paths = spellings(name, base or self.place.cwd, self.home)
        if rule := self._any("deny", paths, READERS) or self.rules.bare("deny", tool):
            return Finding("deny", f"Permission to read {paths[0]} has been denied by the rule {rule}.")
        if rule := self._any("ask", paths, READERS) or self.rules.bare("ask", tool):
            return Finding("ask", f"The rule {rule} wants reading {paths[0]} to be asked.", is_firm=True)
        if self._all(paths, READERS, tool) or all(lies_within(path, [*self.folders, *self.further]) for path in paths):
            return ALLOWED
        return Finding(
            "ask",
            f"Reading {_shown(paths)} needs permission: it lies outside of the working folders.",
            (f"Read({_pattern(paths[-1].parent)}/**)",) if len(paths[-1].parent.parts) > 2 else (),
        )

    def write(self, name: str, base: Path | None = None, tool: str = "Edit") -> Finding:
        """Whether a file may be changed."""
        paths = spellings(name, base or self.place.cwd, self.home)
        return self._write(paths, tool)._replace(changes=True)

    def _write(self, paths: tuple[Path, ...], tool: str) -> Finding:
        forbidding = self._any("deny", paths, EDITORS | READERS) or self.rules.bare("deny", tool)
        if forbidding:
            return Finding("deny", f"Permission to change {paths[0]} has been denied by the rule {forbidding}.")
        if rule := self._any("ask", paths, EDITORS) or self.rules.bare("ask", tool):
            return Finding("ask", f"The rule {rule} wants changing {paths[0]} to be asked.", is_firm=True)
        if any(is_protected(path) for path in paths):
            return Finding("ask", f"Changing {_shown(paths)} needs permission: it decides what other programs run.")
        if self._all(paths, EDITORS, tool):
            return ALLOWED
        is_inside = all(lies_within(path, self.folders) for path in paths)
        if is_inside and self.mode == "acceptEdits":
            return ALLOWED
        where = "no rule allows it" if is_inside else "it lies outside of the working folders"
        return Finding(
            "ask",
            f"Changing {_shown(paths)} needs permission: {where}.",
            (f"Edit({_pattern(paths[-1].parent)}/**)",) if len(paths[-1].parent.parts) > 2 else (),
        )

    def write_by_command(self, name: str, base: Path | None = None) -> Finding:
        """Whether a command may write to a file."""
        return ALLOWED if name in _HARMLESS else self.write(name, base)

    def write_within(self, name: str, base: Path) -> Finding:
        """Whether a command that is allowed may write to a file: within the working folders it may."""
        return replace(self, mode="acceptEdits").write_by_command(name, base)

    def is_hidden(self, path: Path) -> bool:
        """Whether a rule forbids reading a file, so that a search must not show it."""
        return self._any("deny", spellings(str(path), self.place.cwd, self.home), READERS) is not None

    def hides(self) -> bool:
        """Whether any rule forbids or asks about reading some files."""
        return bool(self.rules.specific("deny", READERS) or self.rules.specific("ask", READERS))

    def _any(self, kind: Kind, paths: Sequence[Path], tools: frozenset[str]) -> Rule | None:
        """What forbids needs one name of the file, from any folder that a pattern may begin in."""
        bases = [self.place.root, self.place.cwd]
        for rule in self.rules.specific(kind, tools):
            if any(matches(rule, path, bases, self.home) for path in paths):
                return rule
        return None

    def _all(self, paths: Sequence[Path], tools: frozenset[str], tool: str) -> bool:
        """What allows needs all names of the file: a link must not lead out of what is allowed."""
        if self.rules.bare("allow", tool):
            return True
        spoken = {"Read"} if tools is READERS else {"Edit"}
        rules = self.rules.specific("allow", spoken | {tool})
        return all(any(matches(rule, path, [self.place.root], self.home) for rule in rules) for path in paths)


def _shown(paths: tuple[Path, ...]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} (a link to {paths[-1]})"


def _pattern(folder: Path) -> str:
    return f"/{folder.as_posix()}"
