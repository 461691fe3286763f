"""What `turnlog repair` does and says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from turnlog.cli.config import Config
from turnlog.cli.edit.made import made_document, tell_made
from turnlog.cli.edit.undoing import undo
from turnlog.cli.named import located
from turnlog.cli.output import dump, say
from turnlog.cli.terminal import line, pad
from turnlog.edit.apply import refuse_busy, replace
from turnlog.edit.clone import Made, clone
from turnlog.edit.draft import Draft
from turnlog.edit.ending import title_of_made
from turnlog.edit.repairs.repair import ELSEWHERE, Outcome, Treatment, must_be_known, repair
from turnlog.edit.target import Target, target
from turnlog.edit.undo.record import Record
from turnlog.render.figures import count
from turnlog.session.session import Session

DEFINITION = "before, after: in how many places the session has it"


class Wish(NamedTuple):
    """How to repair."""

    only: tuple[str, ...] = ()
    in_place: bool = False
    dry_run: bool = False
    force: bool = False
    title: str | None = None


class Done(NamedTuple):
    """What was found, and what was written."""

    path: Path
    outcome: Outcome
    made: Made | None = None
    record: Record | None = None


def run(name: str, wish: Wish, config: Config, *, as_json: bool) -> int:
    """Repair a session, and say what was done."""
    must_be_known(wish.only)
    path = located(name, config)
    found = None if wish.dry_run else target(path)
    if found is not None and wish.in_place:
        refuse_busy(found, force=wish.force)
    with Session.open(path) as session:
        done = Done(path, repair(session, wish.only))
        if found is not None and done.outcome.draft is not None:
            done = written(found, session, done, done.outcome.draft, wish)
    if as_json:
        dump(document(done, wish))
    else:
        say(_lines(done, wish))
        if done.made is not None:
            tell_made(done.made)
    return 0 if done.outcome.is_cured else 1


def written(found: Target, session: Session, done: Done, draft: Draft, wish: Wish) -> Done:
    """Write the result: in the place of the session, or as a new one."""
    if wish.in_place:
        size = max((item.end for item in session.file.items), default=0)
        words = f"{found.session_id}: {', '.join(told.kind for told in done.outcome.treatments if told.done)}"
        expected = session.file.source.mark(size)
        record = replace(found, draft.lines, undo(), verb="repair", words=words, expected=expected, force=wish.force)
        return done._replace(record=record)
    title = wish.title
    if title is None and any(told.kind == "title-not-in-tail" for told in done.outcome.treatments):
        title = title_of_made("repair", session.title, found.session_id)  # a look at both ends does not find it
    return done._replace(made=clone(found.path, draft, title=title, verb="repair"))


def document(done: Done, wish: Wish) -> dict[str, Any]:
    """A repair for programs."""
    return {
        "session": str(done.path),
        "treatments": [{**msgspec.structs.asdict(told), "cured": not told.left} for told in done.outcome.treatments],
        "revealed": done.outcome.revealed,
        "cured": done.outcome.is_cured,
        "dry_run": wish.dry_run,
        "made": made_document(done.made) if done.made else None,
        "change": done.record.name if done.record else None,
    }


def _lines(done: Done, wish: Wish) -> Iterator[str]:
    outcome = done.outcome
    if not outcome.treatments:
        yield from _nothing(wish)
        return
    yield f"{pad('kind', 18)}{'before':>7}{'after':>7}   what was done"
    for told in outcome.treatments:
        yield f"{pad(told.kind, 18)}{told.found:>7,}{told.left:>7,}   {_verb(told)}{line(told.words)}"
    yield DEFINITION
    if outcome.revealed:
        yield f"What is shown again has illnesses of its own: {', '.join(outcome.revealed)}; repair these too."
    left = [told for told in outcome.treatments if told.left]
    if left:
        yield f"{count(len(left), 'kind')} not cured: {', '.join(told.kind for told in left)}."
    if outcome.draft is None:
        yield "Nothing could be repaired, and nothing was written."
    elif wish.dry_run:
        yield "Nothing was written: this was a dry run."
    elif done.record is not None:
        yield f"Written in place. `turnlog undo {done.record.name}` brings the original back."


def _verb(told: Treatment) -> str:
    return "not repaired: " if not told.done and told.left else ""


def _nothing(wish: Wish) -> Iterator[str]:
    if not wish.only:
        yield "Nothing to repair: the doctor finds no illness; what it only notes is repaired when --only names it."
        return
    yield f"Nothing to repair: it has no {', no '.join(wish.only)}."
    for kind in wish.only:
        if kind in ELSEWHERE:
            yield f"{kind} is not repaired in a session: {ELSEWHERE[kind]}."
