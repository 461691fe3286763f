"""`turnlog repair`: make well what the doctor finds."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


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
    from turnlog.api.documents import to_document
    from turnlog.api.repairs import repair_session
    from turnlog.api.sentences import describe_repair, list_copy_remarks
    from turnlog.cli.output import print_json, print_lines, print_remark

    if in_place and title is not None:
        raise UsageError("--title is for a new session; `turnlog rename` gives another one a title")
    if force and not in_place:
        raise UsageError("--force belongs to --in-place")
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
