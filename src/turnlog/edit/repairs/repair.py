"""Repairing a session: what a diagnosis finds, one kind after the other, in a fixed order.

Each repair works on the session as the one before it left it, read again, and the session is examined again after it:
a repair that does not cure is not done, and told. What a repair brings back into the conversation may be ill itself; so
after the last kind the first comes again, as often as something was done. The result must be no worse than the source
(`session.health.resumable`). If it is, all is done once more in small steps, of which none may make anything worse.

Notes (symptoms of severity `info`) are left alone unless their kind is named: a rewind looks like a lost link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from turnlog.edit.repairs.course import REVEALED_ILLNESSES, RepairCourse, RepairOutcome, Treatment
from turnlog.edit.repairs.table import REMEDIES_BY_KIND, REPAIRS_BY_KIND
from turnlog.errors import UsageError
from turnlog.session.health.illnesses import ILLNESSES
from turnlog.session.session import Session

__all__ = ["REMEDIES_BY_KIND", "REPAIRS_BY_KIND", "RepairOutcome", "Treatment", "check_illness_kinds", "repair_session"]


def check_illness_kinds(kinds: Iterable[str]) -> None:
    """Refuse names that are no kind of illness."""
    if unknown := [kind for kind in kinds if kind not in ILLNESSES]:
        raise UsageError(f"--only {unknown[0]}: there is no such kind; the kinds are {', '.join(ILLNESSES)}")


def repair_session(session: Session, only: Collection[str] = ()) -> RepairOutcome:
    """Repair a session as far as that can be done; of some kinds only, if they are named."""
    check_illness_kinds(only)
    bold = RepairCourse(session, only, REVEALED_ILLNESSES)
    found = bold.run()
    return found if bold.is_no_worse else RepairCourse(session, only, ()).run()
