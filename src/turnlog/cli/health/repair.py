"""`turnlog repair`: fix what the doctor finds."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


@click.command()
@click.argument("session")
@click.option(
    "--only",
    multiple=True,
    metavar="KIND",
    help="Repair only problems of this kind, including notes (repeatable).",
)
@click.option("--in-place", is_flag=True, help="Change the session itself; `turnlog undo` restores the original.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be repaired, without writing anything.")
@click.option("--force", is_flag=True, help="With --in-place, change the session even if it was modified just now.")
@click.option("--title", help="Title of the new session (default: `Repair of …`).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def repair(
    session: str, only: tuple[str, ...], in_place: bool, dry_run: bool, force: bool, title: str | None, as_json: bool
) -> int:
    """Repair the problems that `turnlog doctor` finds, in a new session or in place.

    turnlog repairs problems one kind at a time (see docs/repair.md). Notes, and repairs that would make Claude
    Code send less of the conversation, are skipped unless you request them with --only. After each repair, the session
    is checked again, and a repair that would make anything worse is not applied. The output lists what could not be
    repaired and what to do instead. The exit status is 1 if a problem remains. SESSION is a path, an id, an id
    prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog repair last
      turnlog repair bee7dbd3 --dry-run
      turnlog repair bee7dbd3 --only missing-parent --only unanswered-call
      turnlog repair bee7dbd3 --in-place
    """
    from turnlog.api.documents import to_document
    from turnlog.api.repairs import repair_session
    from turnlog.api.sentences import describe_repair, list_copy_remarks
    from turnlog.cli.output import print_json, print_lines, print_remark

    if in_place and title is not None:
        raise UsageError("--title can't be combined with --in-place; use `turnlog rename` to change the title")
    if force and not in_place:
        raise UsageError("--force requires --in-place")
    result = repair_session(
        session, only=only, in_place=in_place, title=title, force=force, dry_run=dry_run, notify=print_remark
    )
    if as_json:
        print_json(to_document(result))
    else:
        for text in list_copy_remarks(result.made):
            print_remark(text)
        print_lines(describe_repair(result, only))
    return 0 if result.cured else 1
