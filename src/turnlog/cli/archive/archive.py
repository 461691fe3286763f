"""`turnlog archive`: keep copies of sessions that Claude Code would delete."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from turnlog.errors import UsageError

_MAX_HOOK_INPUT_BYTES = 1 << 20
_JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")


@click.group()
def archive() -> None:
    """Keep sessions that Claude Code would delete.

    Claude Code deletes sessions that have not been used for 30 days (its cleanupPeriodDays setting changes this). The
    archive keeps compressed copies of sessions and of everything that belongs to them in turnlog's own data folder.
    Restored sessions are byte-for-byte identical, and Claude Code can resume them.

    \b
    Examples:
      turnlog archive on                archive all sessions regularly
      turnlog archive list --gone       list sessions that only the archive has
      turnlog archive restore bee7dbd3  restore a session
      turnlog archive install --hook    archive a session whenever it ends
    """


@archive.command()
@click.option("--every", metavar="HOURS", type=click.IntRange(1, 744), default=6, show_default=True,
              help="Minimum number of hours between archive runs.")  # fmt: skip
def on(every: int) -> None:
    """Turn on regular archiving of all sessions.

    The first run starts now. Later runs start in the background when you use turnlog, at most once every HOURS hours.
    If you rarely use turnlog, run `turnlog archive install` to add a timer or Claude Code hooks.
    """
    from turnlog.api.archives import schedule_archive
    from turnlog.cli.output import print_lines

    schedule_archive(every)
    print_lines([f"The archive is on and runs every {every} hours when you use turnlog. The first run has started."])


@archive.command()
def off() -> None:
    """Turn off regular archiving, but keep the archived sessions."""
    from turnlog.api.archives import schedule_archive
    from turnlog.cli.output import print_lines

    schedule_archive(None)
    print_lines(
        ["The archive is off; archived sessions are kept. `turnlog archive install --remove` removes timers and hooks."]
    )


@archive.command()
@_JSON_OPTION
def status(as_json: bool) -> None:
    """Show what is in the archive and what Claude Code will delete."""
    from turnlog.api.archives import read_archive_status
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_archive_status
    from turnlog.cli.output import print_json, print_lines

    found = read_archive_status()
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_archive_status(found))


@archive.command()
@click.option("--session", "sessions", metavar="ID", multiple=True, help="Archive only this session (repeatable).")
@click.option("--hook", is_flag=True, help="Archive only the session that a Claude Code hook passes on standard input.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.option("--background", is_flag=True, hidden=True)
@_JSON_OPTION
def run(sessions: tuple[str, ...], hook: bool, quiet: bool, background: bool, as_json: bool) -> int:
    """Archive new and changed sessions now.

    If a session has grown, only the new data is stored. If a file can't be read, all other files are still archived,
    and the exit status is 1.

    \b
    Examples:
      turnlog archive run
      turnlog archive run --quiet --session 932fc80a-c05a-4969-ba64-42dfe573deb6
    """
    from turnlog.api.archives import archive_sessions
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_archive_run
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    hook_session = _read_hook_session_id() if hook else None
    if hook and hook_session is None:
        return 0
    if background and hasattr(os, "nice"):
        os.nice(10)
    watched = not (quiet or as_json or background)
    done = archive_sessions(
        sessions,
        ids=[hook_session] if hook_session else (),
        progress=show_progress("archiving {done:,} of {total:,} …") if watched else None,
    )
    if as_json:
        print_json(to_document(done))
    elif not (quiet or background):
        print_lines(render_archive_run(done))
    for trouble in done.troubles:
        print_remark(f"not archived: {trouble}")
    return 1 if done.troubles else 0


def _read_hook_session_id() -> str | None:
    """Read the session id that Claude Code passes to its hooks on standard input."""
    import msgspec

    from turnlog.entries.layout import is_session_id

    text = sys.stdin.buffer.read(_MAX_HOOK_INPUT_BYTES) if sys.stdin is not None else b""
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise UsageError("--hook: standard input is not JSON; this option is for Claude Code hooks") from None
    name = value.get("session_id") if isinstance(value, dict) else None
    return name if isinstance(name, str) and is_session_id(name) else None


@archive.command(name="list")
@click.option("--gone", is_flag=True, help="List only sessions that are no longer on disk.")
@_JSON_OPTION
def list_sessions(gone: bool, as_json: bool) -> None:
    """List the archived sessions, newest first."""
    from turnlog.api.archives import list_archive
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_archive_list
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    found = list_archive(only_gone=gone)
    if as_json:
        print_json(to_document(found))
        return
    print_lines(render_archive_list(found, detect_screen(load_config().color)))
    if not found.sessions:
        print_remark(
            "All archived sessions are still on disk."
            if gone
            else "The archive is empty; `turnlog archive run` fills it."
        )


@archive.command()
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@click.option("--to", metavar="DIR", help="Config folder to restore to (default: the original one).")
@click.option("--at", metavar="DATE|N", help="Generation to restore, by date or number (see `archive list --json`).")
@click.option("--force", is_flag=True, help="Replace existing files that differ, keeping copies of them.")
@click.option(
    "--keep-times", is_flag=True, help="Restore the original file times; Claude Code may then delete the session again."
)
@click.option("--present", is_flag=True, help="Skip files that were already deleted while the session still existed.")
@_JSON_OPTION
def restore(
    names: tuple[str, ...], to: str | None, at: str | None, force: bool, keep_times: bool, present: bool, as_json: bool
) -> None:
    """Restore archived sessions, byte for byte.

    Claude Code can then resume them. Restored files get the current modification time; otherwise, Claude Code would
    delete old sessions again the next time it starts. If a file already exists with different content, nothing is
    restored unless you use --force. SESSION is an id, an id prefix, or a title.

    \b
    Examples:
      turnlog archive restore bee7dbd3
      turnlog archive restore bee7dbd3 --to /tmp/look --keep-times
      turnlog archive restore bee7dbd3 --at 2026-11-03
    """
    from turnlog.api.archives import restore_archived_sessions
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_restored_sessions
    from turnlog.cli.output import print_json, print_lines

    done = restore_archived_sessions(names, to=to, at=at, force=force, keep_times=keep_times, with_gone=not present)
    if as_json:
        print_json(to_document(done))
    else:
        print_lines(render_restored_sessions(done, str(Path(to).expanduser().absolute()) if to is not None else None))


@archive.command()
@click.option("--repair", is_flag=True, help="Move damaged blobs aside and rebuild damaged manifests.")
@_JSON_OPTION
def verify(repair: bool, as_json: bool) -> int:
    """Compare all data in the archive with its recorded hashes.

    The exit status is 1 if anything is damaged. --repair moves damaged blobs and manifests aside. If a session is still
    on disk, the next archive run stores its data again; otherwise, --repair rebuilds its damaged manifest from the
    blobs that contain its lines, and prints what has been lost.
    """
    from turnlog.api.archive_upkeep import verify_archive
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_verification
    from turnlog.cli.output import print_json, print_lines, print_remark

    found = verify_archive(repair=repair, notify=print_remark)
    for text in found.mended:
        print_remark(text)
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_verification(found))
    return 0 if found.sound else 1


@archive.command()
@click.option("--keep", metavar="N", type=click.IntRange(1), help="Keep at most N generations of each session.")
@click.option("--older-than", metavar="AGE", help="Remove generations older than AGE: 90d, 12w, 2y or a date.")
@click.option(
    "--max-size", metavar="SIZE", help="Remove generations until the archive fits into SIZE, such as 500MB or 2GB."
)
@click.option("--gone", is_flag=True, help="Also remove the only copy of a session that is no longer on disk.")
@click.option("--yes", is_flag=True, help="Make the changes instead of only showing them.")
@_JSON_OPTION
def prune(keep: int | None, older_than: str | None, max_size: str | None, gone: bool, yes: bool, as_json: bool) -> None:
    """Remove old generations from the archive.

    A session gets a new generation when one of its files is rewritten or truncated. The newest generation is kept
    unless the session is no longer on disk and you use --gone. Data that no generation uses is always removed.

    \b
    Examples:
      turnlog archive prune --keep 3
      turnlog archive prune --older-than 1y --gone --yes
      turnlog archive prune --max-size 5GB --gone
    """
    from turnlog.api.archive_upkeep import prune_archive
    from turnlog.api.documents import to_document
    from turnlog.cli.archive.view import render_pruning
    from turnlog.cli.output import print_json, print_lines

    if gone and older_than is None and max_size is None:
        raise click.UsageError("--gone requires --older-than or --max-size.")
    done = prune_archive(keep=keep, older_than=older_than, max_size=max_size, gone=gone, dry_run=not yes)
    if as_json:
        print_json(to_document(done))
    else:
        print_lines(render_pruning(done))


@archive.command()
@click.option("--systemd", "kind", flag_value="systemd", help="Install a systemd timer for this user.")
@click.option("--cron", "kind", flag_value="cron", help="Add a line to this user's crontab.")
@click.option(
    "--hook", "kind", flag_value="hook", help="Add SessionEnd and PreCompact hooks to Claude Code's settings.json."
)
@click.option("--remove", is_flag=True, help="Remove the timer, the crontab line or the hooks (default: all of them).")
@click.option("--config-dir", metavar="DIR", help="Config folder that contains settings.json (only with --hook).")
@click.option("--yes", is_flag=True, help="Make the changes instead of only showing them.")
def install(kind: str | None, remove: bool, config_dir: str | None, yes: bool) -> None:
    """Set up a timer or Claude Code hooks that archive sessions.

    \b
    Examples:
      turnlog archive install --systemd         show what would be installed
      turnlog archive install --hook --yes
      turnlog archive install --remove --yes
    """
    from turnlog.api.archive_installation import plan_install_steps
    from turnlog.cli.output import print_lines, print_remark

    if kind is None and not remove:
        raise click.UsageError("use --systemd, --cron or --hook.")
    steps = plan_install_steps(kind, remove, config_dir)
    for step in steps:
        print_lines(step.words)
        if yes:
            step.act()
    if not steps:
        print_remark("Nothing to do.")
    elif not yes:
        print_remark("Nothing was changed; use --yes to make the changes.")
