"""Decides whether a file may be read or changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turnlog.agent.permissions.decision import ALLOW_DECISION, Decision
from turnlog.agent.permissions.git_programs import is_run_by_git
from turnlog.agent.permissions.git_reads import find_repository_reads
from turnlog.agent.permissions.paths import is_of_process, is_protected, lies_within, list_spellings, matches_path
from turnlog.agent.permissions.rules import EDIT_TOOLS, READ_TOOLS, PermissionRule, PermissionRules
from turnlog.agent.settings import PermissionMode, RuleKind
from turnlog.agent.tools.call_result import Workspace

HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_OUTSIDE_REASON = "it is outside the working folders"
_MAX_CHECKED_FILES = 2000
"""The maximum number of files in a folder to check against the rules."""
_MAX_CHECKED_FILES_IN_ALL = 20_000
"""The maximum for one decision, because a command can name a folder hundreds of times."""
_SPLIT_NAME_PATTERN = re.compile(r"""[\s'"\\]""")


class FileListing(NamedTuple):
    """Which files a command lists for another one."""

    pattern: str = "*"
    """What their names match."""
    has_links: bool = True
    is_split: bool = True
    """Whether a name with a blank or a quote in it would be read as several."""


class FileAccess(Struct):
    """Applies the rules for files in a workspace in one permission mode."""

    rules: PermissionRules
    place: Workspace
    home: Path
    mode: PermissionMode = "default"
    further: Sequence[Path] = ()
    """Folders that may be read but not changed: the session's own."""
    is_trusted: bool = True
    """Whether the person trusts the folder, and so the settings of its repository."""
    spelled: dict[tuple[str, Path], tuple[Path, ...]] = {}
    """The names of files that were resolved for this decision."""
    checked_file_count: int = 0
    """How many files in folders were checked against the rules for this decision."""

    @property
    def folders(self) -> list[Path]:
        """The working folders."""
        return [self.place.root, *self.place.further]

    def list_names(self, name: str, base: Path | None = None) -> tuple[Path, ...]:
        """Return all names of a file, with and without following links."""
        key = (name, base or self.place.cwd)
        if (held := self.place.pinned) is not None and held.name == name and key not in self.spelled:
            names = list_spellings(*key, self.home)
            self.spelled[key] = tuple(dict.fromkeys((names[0], held.file.real, *names[1:])))
        if key not in self.spelled:
            self.spelled[key] = list_spellings(*key, self.home)
        return self.spelled[key]

    def decide_read(self, name: str, base: Path | None = None, tool: str = "Read") -> Decision:
        paths = self.list_names(name, base)
        if found := self._apply_strict_rules("read", paths, READ_TOOLS, tool):
            return found
        if self._is_allowed_by_rules(paths, "Read", tool) or all(
            lies_within(path, [*self.folders, *self.further]) for path in paths
        ):
            return ALLOW_DECISION
        return _ask_decision(
            f"Reading {_format_paths(paths)}", _OUTSIDE_REASON, _suggest_folder_rule("Read", paths[-1].parent)
        )

    def decide_git_reads(self, folder: Path) -> Iterator[Decision]:
        """Yield the decisions on the files that the repository of a folder makes git read."""
        try:
            reads = find_repository_reads(folder, self.home)
        except OSError as error:
            yield _ask_decision(f"Using the repository of {folder}", f"its settings can't be checked ({error})")
            return
        within = replace(self, further=(*self.further, *reads.own))
        yield from (within.decide_read(*file) for file in reads.files)

    def decide_write(self, name: str, base: Path | None = None, tool: str = "Edit") -> Decision:
        return self._decide_write_to_paths(self.list_names(name, base), tool)._replace(changes=True)

    def _decide_write_to_paths(self, paths: tuple[Path, ...], tool: str) -> Decision:
        if found := self._apply_strict_rules("change", paths, EDIT_TOOLS, tool or "Edit"):
            return found
        if any(is_protected(path) or is_run_by_git(path, self.place.root, self.home) for path in paths):
            return _ask_decision(f"Changing {_format_paths(paths)}", "it controls what other programs run")
        is_inside = all(lies_within(path, self.folders) for path in paths)
        if self._is_allowed_by_rules(paths, "Edit", tool) or (is_inside and self.mode == "acceptEdits"):
            return ALLOW_DECISION
        reason = "no rule allows it" if is_inside else _OUTSIDE_REASON
        return _ask_decision(f"Changing {_format_paths(paths)}", reason, _suggest_folder_rule("Edit", paths[-1].parent))

    def decide_write_by_command(self, name: str, base: Path | None = None) -> Decision:
        """Decide whether a command may write a file; rules without a path cover only the edit tools."""
        return ALLOW_DECISION if name in HARMLESS_DEVICES else self.decide_write(name, base, "")

    def decide_write_within(self, name: str, base: Path) -> Decision:
        """Decide whether an allowed command may write a file, as if changes in the working folders were accepted."""
        return replace(self, mode="acceptEdits").decide_write_by_command(name, base)

    def decide_removal(self, name: str, base: Path) -> Decision:
        """Decide whether a file or folder may be removed or moved, based on the rules for everything in it."""
        tools = EDIT_TOOLS | READ_TOOLS
        if not (self.rules.list_specific_rules("deny", tools) or self.rules.list_specific_rules("ask", tools)):
            return ALLOW_DECISION
        count = 0
        for folder, folders, files in os.walk(os.path.normpath(base / name)):
            count += len(folders) + len(files)
            self.checked_file_count += len(folders) + len(files)
            if count > _MAX_CHECKED_FILES or self.checked_file_count > _MAX_CHECKED_FILES_IN_ALL:
                reason = f"It is unclear whether a rule forbids changing files in {name}."
                return Decision("ask", reason, is_firm=True)
            for path in (Path(folder, one) for one in (*folders, *files)):
                for kind in ("deny", "ask"):
                    if rule := self._find_matching_rule(kind, [path], tools):
                        return Decision(kind, f"Changing {path} needs permission: {rule}.", is_firm=True)
        return ALLOW_DECISION

    def decide_read_below(self, name: str, base: Path) -> Decision:
        """Decide whether a command may read everything in a folder, including what links in it lead to."""
        queue = [path for path in self.list_names(name, base) if path.is_dir()][-1:]
        known = set(queue)
        for start in queue:
            for folder, folders, files in os.walk(start):
                self.checked_file_count += len(folders) + len(files)
                if self.checked_file_count > _MAX_CHECKED_FILES_IN_ALL:
                    return _ask_too_much_decision(name)
                for path in (Path(folder, one) for one in (*folders, *files)):
                    if not path.is_symlink():
                        continue
                    found = self.decide_read(str(path))
                    if found.verdict != "allow":
                        return found
                    target = Path(os.path.realpath(path))
                    if target.is_dir() and not any(target.is_relative_to(one) for one in known):
                        queue.append(target)
                        known.add(target)
        return ALLOW_DECISION

    def decide_read_listed(self, name: str, base: Path, listing: FileListing) -> Decision:
        """Decide whether a command may read the files in a folder that another command lists for it."""
        for folder, folders, files in os.walk(self.list_names(name, base)[-1]):
            self.checked_file_count += len(folders) + len(files)
            if self.checked_file_count > _MAX_CHECKED_FILES_IN_ALL:
                return _ask_too_much_decision(name)
            listed = [one for one in (*folders, *files) if fnmatchcase(one, listing.pattern)]
            if listing.is_split and any(map(_SPLIT_NAME_PATTERN.search, (*folders, *listed))):
                return _ask_decision(f"Reading the files in {name}", "a name with a blank would be read as several")
            links = [path for path in (Path(folder, one) for one in listed) if listing.has_links and path.is_symlink()]
            for found in (self.decide_read(str(path)) for path in links):
                if found.verdict != "allow":
                    return found
        return ALLOW_DECISION

    def is_hidden(self, path: Path) -> bool:
        """Return whether searches must omit a file because a rule forbids reading it."""
        paths = list_spellings(str(path), self.place.cwd, self.home)
        return any(map(is_of_process, paths)) or self._find_matching_rule("deny", paths, READ_TOOLS) is not None

    def has_read_rules(self) -> bool:
        """Return whether any rule denies reading certain files or requires asking first."""
        return bool(
            self.rules.list_specific_rules("deny", READ_TOOLS) or self.rules.list_specific_rules("ask", READ_TOOLS)
        )

    def _apply_strict_rules(
        self, verb: str, paths: Sequence[Path], kinds: frozenset[str], tool: str
    ) -> Decision | None:
        """Apply deny and ask rules; a file that must not be read must not be changed either."""
        if rule := self._find_matching_rule("deny", paths, kinds | READ_TOOLS) or self.rules.find_bare_rule(
            "deny", tool
        ):
            return Decision("deny", f"Permission to {verb} {paths[0]} has been denied by the rule {rule}.")
        if rule := self._find_matching_rule("ask", paths, kinds) or self.rules.find_bare_rule("ask", tool):
            return Decision("ask", f"The rule {rule} requires permission to {verb} {paths[0]}.", is_firm=True)
        return None

    def _find_matching_rule(
        self, kind: RuleKind, paths: Sequence[Path], tools: frozenset[str]
    ) -> PermissionRule | None:
        """Return a rule that matches any of the file's names, relative to any folder that a pattern may start in."""
        bases = [self.place.root, self.place.cwd]
        rules = self.rules.list_specific_rules(kind, tools)
        return next((rule for rule in rules for path in paths if matches_path(rule, path, bases, self.home)), None)

    def _is_allowed_by_rules(self, paths: Sequence[Path], kind: str, tool: str) -> bool:
        """Return whether rules allow every name of the file, so that a link can't lead outside what is allowed."""
        if self.rules.find_bare_rule("allow", tool):
            return True
        rules = self.rules.list_specific_rules("allow", {kind, tool})
        return all(any(matches_path(rule, path, [self.place.root], self.home) for rule in rules) for path in paths)


def _ask_decision(action: str, reason: str, suggested: tuple[str, ...] = ()) -> Decision:
    return Decision("ask", f"{action} needs permission: {reason}.", suggested)


def _ask_too_much_decision(name: str) -> Decision:
    return _ask_decision(f"Reading everything in {name}", "it is too much to be checked for links")


def _format_paths(paths: tuple[Path, ...]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} (a link to {paths[-1]})"


def _suggest_folder_rule(tool: str, folder: Path) -> tuple[str, ...]:
    """Suggest a rule for a whole folder, unless it is near the root or its name would be read as a pattern."""
    is_plain = len(folder.parts) > 2 and not set("*?[]!#()\\\n") & set(folder.as_posix())
    return (f"{tool}(/{folder.as_posix()}/**)",) if is_plain else ()
