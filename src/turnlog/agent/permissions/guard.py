"""The guard: decides on every call based on the rules in the settings, the mode and the kind of call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from turnlog.agent.permissions.decision import ALLOW_DECISION, Decision, apply_mode, pick_strictest
from turnlog.agent.permissions.file_access import FileAccess
from turnlog.agent.permissions.rules import (
    EDIT_TOOLS,
    PATH_FIELDS,
    READ_TOOLS,
    PermissionRule,
    PermissionRules,
    matches_host,
    matches_name,
)
from turnlog.agent.settings import PermissionMode, Settings, add_rules
from turnlog.agent.tools.call_result import Workspace
from turnlog.errors import UsageError

_FREE_TOOLS = frozenset(
    "TodoWrite Task AskUserQuestion ExitPlanMode EnterPlanMode BashOutput KillShell TaskOutput TaskStop"
    " StructuredOutput".split()
)
"""Tools that change nothing or that ask the person; each call by a sub-agent is decided separately."""
_NAME_FIELDS = {"WebFetch": ("url", ""), "Task": ("subagent_type", "general-purpose"), "Skill": ("skill", "")}
_UNCHECKABLE_REASON = "The call's input can't be checked."


class SettingsGuard:
    """Decides based on the settings; `further` contains folders that may be read but are not working folders."""

    def __init__(
        self,
        settings: Settings,
        mode: PermissionMode = "default",
        *,
        home: Path | None = None,
        further: Sequence[Path] = (),
    ) -> None:
        self.settings = settings
        self.mode = mode
        self.rules = PermissionRules(settings)
        self.home = home or Path.home()
        self.further = tuple(further)
        self._session_rules: list[str] = []
        self._turn_rules: list[str] = []
        self._server_rules: dict[str, Mapping[str, Sequence[str]]] = {}
        """What a program demands for the tools of an MCP server, by its name: rules that ask and deny."""
        self.asking_prefixes: frozenset[str] = frozenset()
        """What the names of tools begin with that bypassPermissions does not allow by itself."""
        self.free_skills: frozenset[str] = frozenset()
        """Skills that only give the model text and so need no permission."""

    @property
    def mode(self) -> PermissionMode:
        return self._mode

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        if mode == "bypassPermissions" and not self.settings.may_bypass_permissions():
            raise UsageError("the settings forbid bypassPermissions mode")
        self._mode: PermissionMode = mode

    @property
    def warnings(self) -> list[str]:
        """Warnings about settings that were ignored."""
        return [*self.settings.warnings, *self.rules.warnings]

    def decide(self, name: str, arguments: Mapping[str, Any], place: Workspace) -> Decision:
        """Decide whether a call may run; a call that can't be checked is never allowed without asking."""
        mode = self.mode  # the person may change it during the decision
        if mode == "bypassPermissions" and name.startswith(tuple(self.asking_prefixes)):
            mode = "default"
        if rule := self.rules.find_bare_rule("deny", name):
            return Decision("deny", f"Permission to use {name} has been denied by the rule {rule}.")
        try:
            found = self._decide_by_nature(name, arguments, self._build_access(place, mode))
        except (OSError, ValueError, RecursionError) as error:  # a name with a NUL, a circle of links
            found = Decision("ask", f"{_UNCHECKABLE_REASON} ({error})", is_firm=True)
        return apply_mode(found, mode)

    def find_change_refusal(self, path: Path, place: Workspace) -> str | None:
        """Return why a file may not be changed without asking, even in a mode that accepts edits."""
        found = self._decide_file_call("Write", {"file_path": str(path)}, self._build_access(place, "acceptEdits"))
        decision = apply_mode(found, "acceptEdits")
        return None if decision.verdict == "allow" else decision.reason or "a rule protects it"

    def decide_with_rules(
        self,
        name: str,
        arguments: Mapping[str, Any],
        place: Workspace,
        rules: Sequence[str],
        mode: PermissionMode | None = None,
    ) -> Decision:
        """Decide as if there were further allow rules; whatever forbids or asks despite such rules still does."""
        wider = SettingsGuard(self.settings, mode or self.mode, home=self.home, further=self.further)
        wider.free_skills, wider.asking_prefixes = self.free_skills, self.asking_prefixes
        wider._server_rules = self._server_rules
        wider.allow_until_exit((*self._session_rules, *self._turn_rules, *rules), place)
        return wider.decide(name, arguments, place)

    def allow_until_turn_end(self, rules: Sequence[str], place: Workspace) -> None:
        """Apply allow rules until the end of the turn."""
        self._turn_rules += rules
        self._apply_added_rules(place)

    def forget_turn_rules(self, place: Workspace) -> None:
        """Forget the rules that applied to a turn."""
        if self._turn_rules:
            self._turn_rules.clear()
            self._apply_added_rules(place)

    def remember(self, rules: tuple[str, ...], place: Workspace) -> str:
        """Write allow rules to the folder's local settings, apply them immediately, and return the path."""
        path = place.root / ".claude" / "settings.local.json"
        add_rules(path, "allow", rules, root=place.root)
        self.allow_until_exit(rules, place)
        return str(path)

    def allow_until_exit(self, rules: Sequence[str], place: Workspace) -> None:
        """Apply allow rules until the client exits."""
        self._session_rules += rules
        self._apply_added_rules(place)

    def add_session_settings(self, permissions: Mapping[str, Any], place: Workspace) -> None:
        """Apply rules of any kind, or working folders, until the client exits."""
        self.settings = self.settings.with_flags({"permissions": permissions}, place.root)
        self._apply_added_rules(place)

    def add_server_rules(
        self, name: str, rules: Mapping[str, Sequence[str]], place: Workspace, *, replaces: bool
    ) -> None:
        """Apply a program's rules for the tools of an MCP server; they can ask and deny, and never allow."""
        before: Mapping[str, Sequence[str]] = {} if replaces else self._server_rules.get(name, {})
        self._server_rules[name] = {kind: (*before.get(kind, ()), *rules[kind]) for kind in ("ask", "deny")}
        self._apply_added_rules(place)

    def replace_local_value(self, name: str, value: Any, path: Path, root: Path) -> None:
        """Apply a value that was written to the folder's local settings."""
        self.settings = self.settings.with_local_value(name, value, path, root)

    def replace_program_settings(self, values: Mapping[str, Any], place: Workspace) -> None:
        """Apply the settings of a program in place of those that it had set before."""
        self.settings = self.settings.with_program_values(values, place.root)
        self._apply_added_rules(place)

    def _apply_added_rules(self, place: Workspace) -> None:
        added: dict[str, list[str]] = {"allow": [*self._session_rules, *self._turn_rules]}
        for kind in ("ask", "deny"):
            added[kind] = [rule for rules in self._server_rules.values() for rule in rules[kind]]
        self.rules = PermissionRules(self.settings.with_flags({"permissions": added}, place.root))

    def list_rules(self) -> list[str]:
        """Return all rules in effect with their sources, in the order in which they are applied."""
        return list(map(str, self.rules.list_all()))

    def is_hidden(self, name: str) -> bool:
        """Return whether a rule denies the whole tool by its name, by its kind or by a pattern."""
        return self.rules.find_bare_rule("deny", name) is not None

    def build_unreadable_check(self, place: Workspace) -> Callable[[Path], bool]:
        """Return a function that decides whether a search must omit a file because a rule forbids reading it."""
        access = self._build_access(place, self.mode)
        return access.is_hidden if access.has_read_rules() else lambda _: False

    def _build_access(self, place: Workspace, mode: PermissionMode) -> FileAccess:
        wider = replace(place, further=(*place.further, *self.settings.list_folders()))
        return FileAccess(self.rules, wider, self.home, mode, self.further, self.settings.is_trusted)

    def _decide_by_nature(self, name: str, arguments: Mapping[str, Any], access: FileAccess) -> Decision:
        if name == "Bash":  # slow to import, and many sessions never run a command
            from turnlog.agent.permissions.command.judge import CommandJudge

            command = arguments.get("command")
            return (
                CommandJudge(command, access).decide()
                if isinstance(command, str)
                else Decision("ask", _UNCHECKABLE_REASON)
            )
        if name in READ_TOOLS | EDIT_TOOLS:
            return self._decide_file_call(name, arguments, access)
        if name in ("WebFetch", "Task", "Agent", "Skill"):
            return self._decide_named_call(name, arguments)
        return self._apply_rules(name) or (ALLOW_DECISION if name in _FREE_TOOLS else _ask_decision(name, "", (name,)))

    def _decide_file_call(self, name: str, arguments: Mapping[str, Any], access: FileAccess) -> Decision:
        path = arguments.get(PATH_FIELDS[name], "." if PATH_FIELDS[name] == "path" else None)
        if not isinstance(path, str):
            return Decision("ask", _UNCHECKABLE_REASON, changes=name in EDIT_TOOLS)
        if name in EDIT_TOOLS:
            return access.decide_write(path, tool=name)
        found = access.decide_read(path or ".", tool=name)
        pattern = arguments.get("pattern") if name == "Glob" else None
        if found.verdict == "allow" and isinstance(pattern, str) and _may_leave_folder(pattern):
            start = re.split(r"[*?\[{]", pattern)[0]  # the search starts in the folder before the first of these
            return pick_strictest(
                access.decide_read(path or "/", tool=name) for path in (start, start.rpartition("/")[0])
            )
        return found

    def _decide_named_call(self, name: str, arguments: Mapping[str, Any]) -> Decision:
        """Decide on a call that names a host, a sub-agent or a skill."""
        tool = "Task" if name == "Agent" else name
        key, default = _NAME_FIELDS[tool]
        target = str(arguments.get(key) or default)
        if tool == "WebFetch":
            target = urlsplit(target).hostname or ""
        if not target:
            return Decision("ask", _UNCHECKABLE_REASON)
        fits = matches_host if tool == "WebFetch" else matches_name
        if decision := self._apply_rules(tool, lambda rule: fits(rule, target)):
            return decision
        rule = f"{tool}({'domain:' if tool == 'WebFetch' else ''}{target})"
        is_plain = re.fullmatch(r"[\w.:-]+", target)  # and so covers nothing else
        is_free = tool == "Task" or (tool == "Skill" and target in self.free_skills)
        return ALLOW_DECISION if is_free else _ask_decision(name, f" for {target}", (rule,) if is_plain else ())

    def _apply_rules(self, tool: str, fits: Callable[[PermissionRule], bool] = lambda _: False) -> Decision | None:
        """Apply deny, ask and allow rules, in that order."""
        for kind in ("deny", "ask", "allow"):
            named = next((rule for rule in self.rules.list_specific_rules(kind, [tool]) if fits(rule)), None)
            if rule := named or self.rules.find_bare_rule(kind, tool):
                return Decision(kind, "" if kind == "allow" else f"The rule {rule} applies.", is_firm=kind == "ask")
        return None


def _ask_decision(name: str, detail: str, suggested: tuple[str, ...]) -> Decision:
    return Decision("ask", f"{name} needs permission{detail}.", suggested)


def build_readonly_check(place: Workspace) -> Callable[[str], bool]:
    """Return a function that checks whether a command may run without any rule because it only reads."""
    guard = SettingsGuard(Settings())
    return lambda command: guard.decide("Bash", {"command": command}, place).verdict == "allow"


def _may_leave_folder(pattern: str) -> bool:
    """Return whether a file name pattern may match files outside the folder in which it starts."""
    return pattern.startswith(("/", "~", "\\")) or ".." in pattern.replace("\\", "/").split("/") or pattern[1:2] == ":"
