"""The decision on whether a call may run, and how the permission mode affects it.

default            asks for calls that no rule allows
acceptEdits        allows changes in the working folders (see `file_access`)
plan               denies anything that changes something
bypassPermissions  asks only if a rule requires it or a disk would be erased; deny rules still apply
dontAsk            denies instead of asking
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from turnlog.agent.settings import PermissionMode
from turnlog.agent.tools.call_result import Workspace

Verdict = Literal["allow", "ask", "deny"]


class Decision(NamedTuple):
    """Whether a call may run, and why."""

    verdict: Verdict
    reason: str = ""
    """The rule, the mode, or the part of the call that decided; shown to people and, after a denial, to the model."""
    suggested: tuple[str, ...] = ()
    """Rules that would allow the call in the future (`Bash(npm test:*)`), written if the answer is "always"."""
    is_firm: bool = False
    """Whether to ask regardless of the mode."""
    changes: bool = False
    """Whether plan mode forbids the call."""
    call: str = ""
    """The id of the call, once somebody is asked about it."""


ALLOW_DECISION = Decision("allow")


class CallGuard(Protocol):
    """Decides whether calls may run."""

    mode: PermissionMode

    def decide(self, name: str, arguments: Mapping[str, Any], place: Workspace) -> Decision:
        """Decide whether a call may run."""
        ...

    def find_change_refusal(self, path: Path, place: Workspace) -> str | None:
        """Return why a file may not be changed without asking, even in a mode that accepts edits."""
        ...

    def decide_with_rules(
        self,
        name: str,
        arguments: Mapping[str, Any],
        place: Workspace,
        rules: Sequence[str],
        mode: PermissionMode | None = None,
    ) -> Decision:
        """Decide as if there were further allow rules; whatever forbids or asks despite such rules still does.

        `mode` replaces the guard's own.
        """
        ...

    def allow_until_turn_end(self, rules: Sequence[str], place: Workspace) -> None:
        """Apply allow rules until the end of the turn."""
        ...

    def forget_turn_rules(self, place: Workspace) -> None:
        """Forget the rules that applied to a turn."""
        ...

    def remember(self, rules: tuple[str, ...], place: Workspace) -> str:
        """Write allow rules to `settings.local.json` and return the path."""
        ...

    def allow_until_exit(self, rules: Sequence[str], place: Workspace) -> None:
        """Apply allow rules until the client exits."""
        ...

    def list_rules(self) -> list[str]:
        """Return all rules in effect with their sources, in the order in which they are applied."""
        ...

    def is_hidden(self, name: str) -> bool:
        """Return whether a rule denies the whole tool, which is then not offered."""
        ...

    def build_unreadable_check(self, place: Workspace) -> Callable[[Path], bool]:
        """Return a function that decides whether a search must omit a file because a rule forbids reading it."""
        ...


def pick_strictest(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest decision, with the suggestions from all decisions that ask."""
    ranked = sorted(decisions, key=lambda one: (one.verdict == "deny", one.verdict == "ask", one.is_firm))
    if not ranked:
        return ALLOW_DECISION
    suggested = [rule for one in ranked if one.verdict == "ask" for rule in one.suggested]
    complete = all(one.suggested for one in ranked if one.verdict == "ask")
    return ranked[-1]._replace(suggested=tuple(dict.fromkeys(suggested)) if complete else ())


def apply_mode(decision: Decision, mode: PermissionMode) -> Decision:
    if mode == "plan" and decision.changes and decision.verdict != "deny":
        return Decision("deny", "Nothing can be changed while in plan mode; finish the plan first.")
    if decision.verdict == "ask" and mode == "bypassPermissions" and not decision.is_firm:
        return ALLOW_DECISION
    if decision.verdict == "ask" and mode == "dontAsk":
        reason = f"{decision.reason} It was denied because the mode dontAsk never asks."
        return Decision("deny", reason.lstrip())
    return decision
