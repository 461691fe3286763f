"""The answer to whether a call may be made: what was found about it, and what the mode makes of that.

default            what no rule allows is asked
acceptEdits        changes within the working folders are allowed (see `access`)
plan               nothing is changed
bypassPermissions  nothing is asked, except what a rule wants asked, and what would remove a disk; deny holds
dontAsk            what would be asked is denied
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from turnlog.agent.settings import PermissionMode
from turnlog.agent.tools.call_result import Workspace

Verdict = Literal["allow", "ask", "deny"]


class Decision(NamedTuple):
    """Whether a call may be made, and why."""

    verdict: Verdict
    reason: str = ""
    """For people, and for the model if it is denied: which rule, which mode, what about the call."""
    suggested: tuple[str, ...] = ()
    """Rules that would allow it in future (`Bash(npm test:*)`): what "don't ask again" writes."""
    is_firm: bool = False
    """Asked in any mode."""
    changes: bool = False
    """A plan must not do it."""


ALLOW_DECISION = Decision("allow")


class CallGuard(Protocol):
    """Decides on calls."""

    mode: PermissionMode

    def decide(self, name: str, given: Mapping[str, Any], place: Workspace) -> Decision:
        """Whether a call may be made."""
        ...

    def remember(self, rules: tuple[str, ...], place: Workspace) -> str:
        """Write rules that allow (`settings.local.json`); says where."""
        ...

    def is_hidden(self, name: str) -> bool:
        """Whether a tool is denied as a whole, and so is not offered."""
        ...

    def unreadable(self, place: Workspace) -> Callable[[Path], bool]:
        """Says of files whether a rule forbids to read them: a search leaves them out."""
        ...


def pick_strictest(decisions: Iterable[Decision]) -> Decision:
    """What several decisions come to: the strictest, with the suggestions of all that ask."""
    found = sorted(decisions, key=lambda one: (one.verdict == "deny", one.verdict == "ask", one.is_firm))
    if not found:
        return ALLOW_DECISION
    asked = [rule for one in found if one.verdict == "ask" for rule in one.suggested]
    complete = all(one.suggested for one in found if one.verdict == "ask")
    return found[-1]._replace(suggested=tuple(dict.fromkeys(asked)) if complete else ())


def apply_mode(found: Decision, mode: PermissionMode) -> Decision:
    """What a mode makes of what rules and the nature of a call say of it."""
    if mode == "plan" and found.changes and found.verdict != "deny":
        return Decision("deny", "Nothing can be changed while in plan mode; finish the plan first.")
    if found.verdict == "ask" and mode == "bypassPermissions" and not found.is_firm:
        return ALLOW_DECISION
    if found.verdict == "ask" and mode == "dontAsk":
        why = f"{found.reason} It was denied because the client asks nobody (don't ask mode)."
        return Decision("deny", why.lstrip())
    return found
