"""`turnlog unpack`: restore the sessions from a package on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.packages import PackageContents, UnpackedSessions

_MAX_TITLE_CHARS = 200


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--project", "projects", multiple=True, metavar="PATH",
              help="Folder to resume the sessions in; OLD=NEW for one of several projects (repeatable).")  # fmt: skip
@click.option(
    "--config",
    "config_dir",
    metavar="DIR",
    help="Claude Code config folder to unpack to (default: the one that Claude Code uses).",
)
@click.option("--list", "listing", is_flag=True, help="List the contents of the package without unpacking it.")
@click.option(
    "-n",
    "--dry-run",
    is_flag=True,
    help="Check the package and show which files would be written, without writing them.",
)
@click.option(
    "--new-ids", is_flag=True, help="Unpack the sessions with new ids, next to any existing sessions with the old ids."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def unpack(
    file: str,
    projects: tuple[str, ...],
    config_dir: str | None,
    listing: bool,
    dry_run: bool,
    new_ids: bool,
    as_json: bool,
) -> None:
    """Unpack the sessions from a package, so that Claude Code can resume them.

    All checksums are verified before anything is written, and either all files are written or none are. The sessions
    belong to the project folder recorded in the package: resume them there. If that folder doesn't exist on this
    machine, use --project, which also changes the paths in the sessions. Nothing is overwritten: an existing session
    with the same content is kept, and if the content of any session differs, nothing is unpacked. To remove an unpacked
    session, use `turnlog delete`.

    \b
    Examples:
      turnlog unpack shop.tar.zst --list
      turnlog unpack shop.tar.zst --project ~/work/webshop
      turnlog unpack both.tar.zst --project /srv/a=~/a --project /srv/b=~/b
    """
    from turnlog.api.documents import to_document
    from turnlog.api.packages import list_package, unpack_sessions
    from turnlog.cli.output import print_json, print_lines, print_remark, spell_flags

    if listing and (projects or config_dir or dry_run or new_ids):
        raise UsageError("--list can't be combined with options for unpacking")
    if listing:
        contents = list_package(file)
        if as_json:
            print_json(to_document(contents))
        else:
            print_lines(_render_contents(contents))
        return
    with spell_flags("project"):
        done = unpack_sessions(file, projects=projects, config_dir=config_dir, new_ids=new_ids, dry_run=dry_run)
    if as_json:
        print_json(to_document(done))
        return
    print_lines(_render_unpacked(done))
    for item in done.sessions:
        for target in item.files:
            if target.state == "kept":
                print_remark(f"{target.path}: a different plan with that name already exists and is kept.")


def _render_contents(found: PackageContents) -> Iterator[str]:
    from turnlog.cli.edit.pack import render_packed_sessions
    from turnlog.cli.terminal import make_visible
    from turnlog.render.figures import format_count, format_size

    yield from render_packed_sessions(found.sessions)
    yield from (f"  {format_size(item.bytes):>8}  {make_visible(item.name)}" for item in found.contents)
    redacted = ", secrets replaced with placeholders" if found.redacted else ""
    yield f"{format_count(found.files, 'file')}, {format_size(found.bytes)} in {format_size(found.size)}{redacted}"


def _render_unpacked(done: UnpackedSessions) -> Iterator[str]:
    from turnlog.cli.terminal import make_visible, to_visible_line
    from turnlog.entries.resume_command import build_resume_command
    from turnlog.render.figures import format_count

    for item in done.sessions:
        title = to_visible_line((item.title or "(no title)")[:_MAX_TITLE_CHARS])
        if item.already_here:
            yield f"Already here: {item.session_id}  {title}"
            continue
        count = sum(target.state == "new" for target in item.files)
        verb = "Would unpack" if done.dry_run else "Unpacked"
        yield f"{verb} {item.session_id}  {title}  ({format_count(count, 'file')})"
        if done.dry_run:
            yield from (f"  {target.state:<5} {make_visible(str(target.path))}" for target in item.files)
        elif item.refusal is not None:
            yield to_visible_line(f"Claude Code would not resume it: {item.refusal}")
        else:
            yield f"Resume it with: {make_visible(build_resume_command(item.session_id, item.project))}"
