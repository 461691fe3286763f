"""The guard: decides on every call by the rules of the settings, the mode and the nature of the call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnlog.agent.permissions.access import Access
from turnlog.agent.permissions.decision import ALLOWED, Decision, Mode, settle, worst
from turnlog.agent.permissions.rules import EDITORS, READERS, Rule, Rules, matches_host, matches_name
from turnlog.agent.settings import Settings, add_rules
from turnlog.agent.tools.tool import Place
from turnlog.errors import UsageError

_FREE = frozenset(
    "TodoWrite Task AskUserQuestion ExitPlanMode EnterPlanMode BashOutput KillShell TaskOutput TaskStop".split()
)
"""They change nothing of themselves, or ask by themselves; what an agent does is decided call by call."""
_PATHS = {
    **dict.fromkeys(("Glob", "Grep", "LS"), "path"),
    **dict.fromkeys(("NotebookEdit", "NotebookRead"), "notebook_path"),
}
_NAMES = {"WebFetch": ("url", ""), "Task": ("subagent_type", "general-purpose"), "Skill": ("skill", "")}
_BROKEN = "What the call was given can't be checked."


class SettingsGuard:
    """Decides by the settings; `further` are folders that may be read though they are no working folders."""

    def __init__(
        self, settings: Settings, mode: Mode = "default", *, home: Path | None = None, further: Sequence[Path] = ()
    ) -> None:
        self.settings = settings
        self.mode = mode
        self.rules = Rules(settings)
        self.home = home or Path.home()
        self.further = tuple(further)
        self._given: list[str] = []

    @property
    def mode(self) -> Mode:
        """How much is asked."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if mode == "bypassPermissions" and not self.settings.may_bypass():
            raise UsageError("the settings do not allow the mode bypassPermissions")
        self._mode: Mode = mode

    @property
    def warnings(self) -> list[str]:
        """What in the settings was ignored."""
        return [*self.settings.warnings, *self.rules.warnings]

    def decide(self, name: str, given: Mapping[str, Any], place: Place) -> Decision:
        """Whether a call may be made; what can't be decided is never allowed."""
        mode = self.mode  # the person may change it meanwhile
        if rule := self.rules.bare("deny", name):
            return Decision("deny", f"Permission to use {name} has been denied by the rule {rule}.")
        try:
            found = self._found(name, given, self._access(place, mode))
        except (OSError, ValueError, RecursionError) as error:  # a name with a NUL, a circle of links
            found = Decision("ask", f"{_BROKEN} ({error})", is_firm=True)
        return settle(found, mode)

    def remember(self, rules: tuple[str, ...], place: Place) -> str:
        """Write rules that allow to the folder's local settings, and keep to them from now on; says where."""
        path = place.root / ".claude" / "settings.local.json"
        add_rules(path, "allow", rules, root=place.root)
        self.permit(rules, place)
        return str(path)

    def permit(self, rules: Sequence[str], place: Place) -> None:
        """Allow something until the client ends."""
        self._given += rules
        layer = {"permissions": {"allow": list(self._given)}}
        self.rules = Rules(self.settings.with_flags(layer, place.root))

    def is_hidden(self, name: str) -> bool:
        """Whether a tool is denied as a whole, by its own name or by that of its kind."""
        return self.rules.bare("deny", name) is not None

    def unreadable(self, place: Place) -> Callable[[Path], bool]:
        """Says of files whether a rule forbids to read them: a search leaves them out."""
        access = self._access(place, self.mode)
        return access.is_hidden if access.hides() else lambda _: False

    def _access(self, place: Place, mode: Mode) -> Access:
        wider = Place(place.root, place.cwd, (*place.further, *self.settings.folders()))
        return Access(self.rules, wider, self.home, mode, self.further, self.settings.is_trusted)

    def _found(self, name: str, given: Mapping[str, Any], access: Access) -> Decision:
        if name == "Bash":  # which takes its time to be loaded, and many sessions run no command
            from turnlog.agent.permissions.command.judge import Judge

            command = given.get("command")
            return Judge(command, access).decide() if isinstance(command, str) else Decision("ask", _BROKEN)
        if name in READERS | EDITORS:
            return self._file(name, given, access)
        if name in ("WebFetch", "Task", "Agent", "Skill"):
            return self._named(name, given)
        return self._spoken(name) or (ALLOWED if name in _FREE else _asking(name, "", (name,)))

    def _file(self, name: str, given: Mapping[str, Any], access: Access) -> Decision:
        path = given.get(_PATHS.get(name, "file_path"), "." if _PATHS.get(name) == "path" else None)
        if not isinstance(path, str):
            return Decision("ask", _BROKEN, changes=name in EDITORS)
        if name in EDITORS:
            return access.write(path, tool=name)
        found = access.read(path or ".", tool=name)
        pattern = given.get("pattern") if name == "Glob" else None
        if found.verdict == "allow" and isinstance(pattern, str) and _leads_away(pattern):
            start = re.split(r"[*?\[{]", pattern)[0]  # the search begins in the folder before the first of these
            return worst(access.read(path or "/", tool=name) for path in (start, start.rpartition("/")[0]))
        return found

    def _named(self, name: str, given: Mapping[str, Any]) -> Decision:
        """What is about a host, an agent or a skill."""
        tool = "Task" if name == "Agent" else name
        key, default = _NAMES[tool]
        chosen = str(given.get(key) or default)
        if tool == "WebFetch":
            chosen = urlsplit(chosen).hostname or ""
        if not chosen:
            return Decision("ask", _BROKEN)
        fits = matches_host if tool == "WebFetch" else matches_name
        if spoken := self._spoken(tool, lambda rule: fits(rule, chosen)):
            return spoken
        rule = f"{tool}({'domain:' if tool == 'WebFetch' else ''}{chosen})"
        is_plain = re.fullmatch(r"[\w.:-]+", chosen)  # and speaks of no more than this one
        return ALLOWED if tool == "Task" else _asking(name, f" for {chosen}", (rule,) if is_plain else ())

    def _spoken(self, tool: str, fits: Callable[[Rule], bool] = lambda _: False) -> Decision | None:
        """What the rules say of a call, in their order."""
        for kind in ("deny", "ask", "allow"):
            named = next((rule for rule in self.rules.specific(kind, [tool]) if fits(rule)), None)
            if rule := named or self.rules.bare(kind, tool):
                return Decision(kind, "" if kind == "allow" else f"The rule {rule} says so.", is_firm=kind == "ask")
        return None


def _asking(name: str, what: str, suggested: tuple[str, ...]) -> Decision:
    return Decision("ask", f"{name} needs permission{what}.", suggested)


def is_readonly(place: Place) -> Callable[[str], bool]:
    """Says of commands whether they would run without any rule: because all that they do is read."""
    guard = SettingsGuard(Settings())
    return lambda command: guard.decide("Bash", {"command": command}, place).verdict == "allow"


def _leads_away(pattern: str) -> bool:
    """Whether a pattern for names may lead out of the folder that it begins in."""
    return pattern.startswith(("/", "~", "\\")) or ".." in pattern.replace("\\", "/").split("/") or pattern[1:2] == ":"
