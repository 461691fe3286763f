"""The answer to whether a call may be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from turnlog.agent.tools.tool import Place

Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]
MODES: tuple[Mode, ...] = get_args(Mode)
Verdict = Literal["allow", "ask", "deny"]


class Decision(NamedTuple):
    """Whether a call may be made, and why."""

    verdict: Verdict
    reason: str = ""
    """For people, and for the model if it is denied: which rule, which mode, what about the call."""
    suggested: tuple[str, ...] = ()
    """Rules that would allow it in future (`Bash(npm test:*)`): what "don't ask again" writes."""


class Guard(Protocol):
    """Decides on calls."""

    mode: Mode

    def decide(self, name: str, given: Mapping[str, Any], place: Place) -> Decision:
        """Whether a call may be made."""
        ...

    def remember(self, rules: tuple[str, ...], place: Place) -> str:
        """Write rules that allow (`settings.local.json`); says where."""
        ...

    def is_hidden(self, name: str) -> bool:
        """Whether a tool is denied as a whole, and so is not offered."""
        ...

    def unreadable(self, place: Place) -> Callable[[Path], bool]:
        """Says of files whether a rule forbids to read them: a search leaves them out."""
        ...
