"""What a mode makes of what was found about a call.

default            what no rule allows is asked
acceptEdits        changes within the working folders are allowed (see `access`)
plan               nothing is changed
bypassPermissions  nothing is asked, except what a rule wants asked, and what would remove a disk; deny holds
dontAsk            what would be asked is denied
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from turnlog.agent.permissions.decision import Decision, Mode, Verdict


class Finding(NamedTuple):
    """What rules and the nature of a call say of it, before the mode is looked at."""

    verdict: Verdict
    reason: str = ""
    suggested: tuple[str, ...] = ()
    is_firm: bool = False
    """Asked in any mode."""
    changes: bool = False
    """A plan must not do it."""


ALLOWED = Finding("allow")


def worst(findings: Iterable[Finding]) -> Finding:
    """What several findings come to: the strictest, with the suggestions of all that ask."""
    found = sorted(findings, key=lambda one: (one.verdict == "deny", one.verdict == "ask", one.is_firm))
    if not found:
        return ALLOWED
    asked = [rule for one in found if one.verdict == "ask" for rule in one.suggested]
    complete = all(one.suggested for one in found if one.verdict == "ask")
    return found[-1]._replace(suggested=tuple(dict.fromkeys(asked)) if complete else ())


def settle(finding: Finding, mode: Mode) -> Decision:
    """The decision in a mode."""
    if mode == "plan" and finding.changes and finding.verdict != "deny":
        return Decision("deny", "Nothing can be changed while in plan mode; finish the plan first.")
    if finding.verdict == "ask" and mode == "bypassPermissions" and not finding.is_firm:
        return Decision("allow")
    if finding.verdict == "ask" and mode == "dontAsk":
        return Decision(
            "deny", f"{finding.reason} It was denied because the client asks nobody (don't ask mode).".lstrip()
        )
    return Decision(finding.verdict, finding.reason, finding.suggested)
