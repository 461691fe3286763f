"""`turnlog ls`: the sessions of this machine, newest first."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnlog.cli.time_format import format_epoch_time
from turnlog.entries.cleanup import read_cleanup_days

if TYPE_CHECKING:
    from turnlog.cli.sessions.catalogue import SessionPage
if TYPE_CHECKING:
    from turnlog.cli.sessions.catalogue import Catalogue

MAX_TERMINAL_SESSIONS = 50
"""How many sessions a terminal gets at a time unless the user says otherwise."""


@click.command()
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("-n", "--limit", type=click.IntRange(0), metavar="N", help="List N sessions at a time; 0 lists all.")
@click.option("--page", "number", type=click.IntRange(1), default=1, metavar="N", help="List the N-th page.")
@click.option("-a", "--all", "everything", is_flag=True, help="List all, also files that hold no conversation.")
@click.option("--other", is_flag=True, help="List the .jsonl files whose names are not session ids instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def ls(project: str | None, limit: int | None, number: int, everything: bool, other: bool, as_json: bool) -> None:
    """List the sessions of this machine, newest first.

    The first column is enough to name a session in other commands. Files without a conversation (empty ones,
    warm-ups, mere titles) are left out and counted. A terminal gets 50 sessions at a time; a pipe, a file and --json
    get all of them unless --limit says otherwise. A machine without sessions shows the demo. Other .jsonl files in
    the project folders are counted; --other lists them. Every command that takes a session takes their path, and
    `turnlog search --other` searches them.

    \b
    Examples:
      turnlog ls
      turnlog ls --page 2
      turnlog ls --project .            sessions of this folder
      turnlog ls --project webshop      sessions of folders with such a name
      turnlog ls --json | jq -r '.sessions[0].path'
    """
    from turnlog.api.config import data_dir, load_config
    from turnlog.api.lookup import list_config_folders, shorten_ids, titles_in_index
    from turnlog.cli.output import mention_others, mention_unlisted, print_json, print_lines, print_remark
    from turnlog.cli.sessions.catalogue import cut_page, load_catalogue, render_session_table, to_session_list_document
    from turnlog.cli.terminal import detect_screen
    from turnlog.entries.layout import is_session_id

    config = load_config()
    found = load_catalogue(list_config_folders(config), project, everything, other=other)
    look = detect_screen(config.color)
    if limit is None and look.width and not everything and not as_json:
        limit = MAX_TERMINAL_SESSIONS
    page = cut_page(found, limit, number, titles_in_index(config))
    if found.is_demo:
        print_remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    elif words := build_deletion_warning(found, data_dir()):
        print_remark(words)
    mention_unlisted(found.survey.unlisted)
    if as_json:
        print_json(to_session_list_document(page))
        return
    ids = shorten_ids([row.file.session_id for row in found.rows if is_session_id(row.file.session_id)])
    print_lines(render_session_table(page, ids, look))
    for words in _list_remarks(page):
        print_remark(words)
    if not other:
        mention_others(len(page.survey.others))


def _list_remarks(page: SessionPage) -> list[str]:
    """What is not shown, and how to see it."""
    found = []
    if page.remaining_count:
        following = f"; --page {page.number + 1} lists the next" if page.number < page.pages else ""
        found.append(f"{len(page.rows)} of {page.total} sessions{following}; --limit 0 lists all.")
    if page.hidden:
        found.append(f"{page.hidden} without a conversation not shown; --all shows them.")
    return found


_WEEK_SECONDS = 7 * 86400


def build_deletion_warning(found: Catalogue, data_dir: Path) -> str | None:
    """One line about the sessions that will be deleted within a week; None if there are none."""
    limit = time.time() + _WEEK_SECONDS
    soon = [
        (end, row.file) for row, end in zip(found.rows, found.find_deletion_times(), strict=True) if end and end < limit
    ]
    if soon:
        kept = _list_archived_ids(data_dir)
        soon = [(end, file) for end, file in soon if file.session_id not in kept]
    if not soon:
        return None
    first = min(end for end, _ in soon)
    when = format_epoch_time(first)[:10] if first > time.time() else "its next start"
    days = sorted({days for _, file in soon if (days := read_cleanup_days(file.config_dir))})
    many = f"{len(soon)} sessions" if len(soon) > 1 else "1 session"
    setting = ", ".join(f"{number:g}" for number in days)
    return (
        f"{many} will be deleted by the client from {when} on (cleanupPeriodDays {setting}); "
        f"`turnlog archive on` keeps {'them' if len(soon) > 1 else 'it'}."
    )


def _list_archived_ids(data_dir: Path) -> set[str]:
    """The ids in the archive; from the names of its files, since loading a decoder would take longer."""
    try:
        return {name[:36] for name in os.listdir(data_dir / "archive" / "sessions")}  # noqa: PTH208
    except OSError:
        return set()
