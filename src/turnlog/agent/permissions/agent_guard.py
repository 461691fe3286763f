"""The guard of one sub-agent: the session's guard with a mode and allow rules that hold only for this agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.permissions.decision import CallGuard, Decision
from turnlog.agent.settings import PermissionMode
from turnlog.agent.tools.call_result import Workspace

_STRICT_MODES = ("plan", "dontAsk")


class AgentGuard:
    """Decides as the session's guard does, whose rules and mode may change while the agent works."""

    def __init__(self, guard: CallGuard, rules: Sequence[str] = (), mode: PermissionMode | None = None) -> None:
        self._guard = guard
        self._rules = list(rules)
        self._mode = mode

    @property
    def mode(self) -> PermissionMode:
        """The agent's own mode if it is stricter, or if the session asks by default; otherwise, the session's."""
        session = self._guard.mode
        is_stricter = self._mode in _STRICT_MODES and session not in _STRICT_MODES
        return self._mode if self._mode and (is_stricter or session == "default") else session

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        self._mode = mode

    def decide(self, name: str, arguments: Mapping[str, Any], place: Workspace) -> Decision:
        if not self._rules and self.mode == self._guard.mode:
            return self._guard.decide(name, arguments, place)
        return self.decide_with_rules(name, arguments, place, ())

    def find_change_refusal(self, path: Path, place: Workspace) -> str | None:
        return self._guard.find_change_refusal(path, place)

    def decide_with_rules(
        self,
        name: str,
        arguments: Mapping[str, Any],
        place: Workspace,
        rules: Sequence[str],
        mode: PermissionMode | None = None,
    ) -> Decision:
        return self._guard.decide_with_rules(name, arguments, place, (*self._rules, *rules), mode or self.mode)

    def allow_until_turn_end(self, rules: Sequence[str], place: Workspace) -> None:
        """Apply allow rules to this agent, whose only turn ends with it."""
        self._rules += rules

    def forget_turn_rules(self, place: Workspace) -> None:
        """Keep the rules, which are forgotten with the agent."""

    def remember(self, rules: tuple[str, ...], place: Workspace) -> str:
        return self._guard.remember(rules, place)

    def allow_until_exit(self, rules: Sequence[str], place: Workspace) -> None:
        self._guard.allow_until_exit(rules, place)

    def list_rules(self) -> list[str]:
        return self._guard.list_rules()

    def is_hidden(self, name: str) -> bool:
        return self._guard.is_hidden(name)

    def build_unreadable_check(self, place: Workspace) -> Callable[[Path], bool]:
        return self._guard.build_unreadable_check(place)
