"""`turnlog repair`: make well what the doctor finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from turnlog.api.config import Config
from turnlog.cli.edit.new_session import print_new_session, to_new_session_document
from turnlog.cli.edit.undo import open_undo_store
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.cli.terminal import pad_to_cells, to_visible_line
from turnlog.edit.apply import refuse_busy_session, replace_transcript
from turnlog.edit.clone import ClonedSession, clone_session
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.catalogue import ALTERNATIVES_BY_KIND
from turnlog.edit.illnesses.repair import RepairOutcome, Treatment, check_illness_kinds, repair_session
from turnlog.edit.session_target import SessionTarget, find_target
from turnlog.edit.undo.record import UndoRecord
from turnlog.render.figures import format_count
from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("--only", multiple=True, metavar="KIND", help="Only this kind of illness, notes too; may be repeated.")
@click.option("--in-place", is_flag=True, help="Change the session itself; `turnlog undo` brings the original back.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="With --in-place: also a session that was written just now.")
@click.option("--title", help="The title of the new session; else `Repair of …`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def repair(
    session: str, only: tuple[str, ...], in_place: bool, dry_run: bool, force: bool, title: str | None, as_json: bool
) -> int:
    """Repair what ails a session, as a new session or in its place.

    Every kind that `turnlog doctor` finds is repaired, one after the other (docs/repair.md says how); what the doctor
    only notes is left alone unless --only names it, and so is every repair after which the client would send less.
    Each result is examined again, and a repair that would make anything worse is not done. The output says what could
    not be repaired, and what to do instead. Exit status 1 if something of that is left.
    SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog repair last
      turnlog repair bee7dbd3 --dry-run
      turnlog repair bee7dbd3 --only missing-parent --only unanswered-call
      turnlog repair bee7dbd3 --in-place
    """
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError

    if in_place and title is not None:
        raise UsageError("--title is for a new session; `turnlog rename` gives another one a title")
    if force and not in_place:
        raise UsageError("--force belongs to --in-place")
    return run_repair(session, RepairOptions(only, in_place, dry_run, force, title), load_config(), as_json=as_json)


REPAIR_DEFINITION = "before, after: in how many places the session has it"


class RepairOptions(NamedTuple):
    """How to repair."""

    only: tuple[str, ...] = ()
    in_place: bool = False
    dry_run: bool = False
    force: bool = False
    title: str | None = None


class RepairResult(NamedTuple):
    """What was found, and what was written."""

    path: Path
    outcome: RepairOutcome
    made: ClonedSession | None = None
    record: UndoRecord | None = None


def run_repair(name: str, wish: RepairOptions, config: Config, *, as_json: bool) -> int:
    """Repair a session, and say what was done."""
    check_illness_kinds(wish.only)
    path = locate_named_session(name, config)
    found = None if wish.dry_run else find_target(path)
    if found is not None and wish.in_place:
        refuse_busy_session(found, force=wish.force)
    with Session.open(path) as session:
        done = RepairResult(path, repair_session(session, wish.only))
        if found is not None and done.outcome.draft is not None:
            done = write_repair(found, session, done, done.outcome.draft, wish)
    if as_json:
        print_json(to_repair_document(done, wish))
    else:
        print_lines(_render_result(done, wish))
        if done.made is not None:
            print_new_session(done.made)
    return 0 if done.outcome.is_cured else 1


def write_repair(
    found: SessionTarget, session: Session, done: RepairResult, draft: Draft, wish: RepairOptions
) -> RepairResult:
    """Write the result: in the place of the session, or as a new one."""
    if wish.in_place:
        size = max((item.end for item in session.file.items), default=0)
        words = f"{found.session_id}: {', '.join(told.kind for told in done.outcome.treatments if told.done)}"
        expected = session.file.source.make_checkpoint(size)
        record = replace_transcript(
            found,
            draft.iterate_lines,
            open_undo_store(),
            verb="repair",
            words=words,
            expected=expected,
            force=wish.force,
        )
        return done._replace(record=record)
    title = wish.title
    if title is None and any(told.kind == "title-not-in-tail" for told in done.outcome.treatments):
        title = compose_copy_title("repair", session.title, found.session_id)  # a look at both ends does not find it
    return done._replace(made=clone_session(found.path, draft, title=title, verb="repair"))


def to_repair_document(done: RepairResult, wish: RepairOptions) -> dict[str, Any]:
    """A repair for programs."""
    return {
        "session": str(done.path),
        "treatments": [{**msgspec.structs.asdict(told), "cured": not told.left} for told in done.outcome.treatments],
        "revealed": done.outcome.revealed,
        "cured": done.outcome.is_cured,
        "dry_run": wish.dry_run,
        "made": to_new_session_document(done.made) if done.made else None,
        "change": done.record.name if done.record else None,
    }


def _render_result(done: RepairResult, wish: RepairOptions) -> Iterator[str]:
    outcome = done.outcome
    if not outcome.treatments:
        yield from _explain_no_repair(wish)
        return
    yield f"{pad_to_cells('kind', 18)}{'before':>7}{'after':>7}   what was done"
    for told in outcome.treatments:
        yield (
            f"{pad_to_cells(told.kind, 18)}{told.found:>7,}{told.left:>7,}   "
            f"{_describe_outcome(told)}{to_visible_line(told.words)}"
        )
    yield REPAIR_DEFINITION
    if outcome.revealed:
        yield f"What is shown again has illnesses of its own: {', '.join(outcome.revealed)}; repair these too."
    left = [told for told in outcome.treatments if told.left]
    if left:
        yield f"{format_count(len(left), 'kind')} not cured: {', '.join(told.kind for told in left)}."
    if outcome.draft is None:
        yield "Nothing could be repaired, and nothing was written."
    elif wish.dry_run:
        yield "Nothing was written: this was a dry run."
    elif done.record is not None:
        yield f"Written in place. `turnlog undo {done.record.name}` brings the original back."


def _describe_outcome(told: Treatment) -> str:
    return "not repaired: " if not told.done and told.left else ""


def _explain_no_repair(wish: RepairOptions) -> Iterator[str]:
    if not wish.only:
        yield "Nothing to repair: the doctor finds no illness; what it only notes is repaired when --only names it."
        return
    yield f"Nothing to repair: it has no {', no '.join(wish.only)}."
    for kind in wish.only:
        if kind in ALTERNATIVES_BY_KIND:
            yield f"{kind} is not repaired in a session: {ALTERNATIVES_BY_KIND[kind]}."
