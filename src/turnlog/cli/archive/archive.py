"""`turnlog archive`: copies of sessions that outlive the client's clean-up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from turnlog.errors import UsageError

_MAX_HOOK_INPUT_BYTES = 1 << 20
_JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")


@click.group()
def archive() -> None:
    """Keep sessions that the client would delete.

    The client deletes sessions that were not used for 30 days (its setting cleanupPeriodDays). The archive keeps
    compressed copies of them with everything that belongs to them, in turnlog's own data folder, and puts them
    back byte for byte, so that the client resumes them.

    \b
    Examples:
      turnlog archive on                keep everything from now on
      turnlog archive list --gone       what only the archive has
      turnlog archive restore bee7dbd3  put a session back
      turnlog archive install --hook    archive a session whenever it ends
    """


@archive.command()
@click.option("--every", metavar="HOURS", type=click.IntRange(1, 744), default=6, show_default=True,
              help="How often the archive is brought up to date.")  # fmt: skip
def on(every: int) -> None:
    """Archive all sessions now and then, from now on.

    Whenever turnlog is used and HOURS have passed, a run is started in the background; nobody waits for it. The first
    one starts now. If turnlog is seldom used, `turnlog archive install` adds a timer or a hook of the client.
    """
    from turnlog.api.archives import schedule_archive
    from turnlog.cli.output import print_lines

    schedule_archive(every)
    print_lines(
        [f"The archive is on: every {every} hours, beside other commands. The first run has started in the background."]
    )


@archive.command()
def off() -> None:
    """Archive no more beside other commands; what is archived stays."""
    from turnlog.api.archives import schedule_archive
    from turnlog.cli.output import print_lines

    schedule_archive(None)
    print_lines(
        ["The archive is off; what it holds stays. Timers and hooks are removed by `turnlog archive install --remove`."]
    )


@archive.command()
@_JSON_OPTION
def status(as_json: bool) -> None:
    """Say what the archive holds, and what the client will delete."""
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
@click.option("--session", "sessions", metavar="ID", multiple=True, help="Only this session; may be repeated.")
@click.option("--hook", is_flag=True, help="Only the session that the client names on standard input.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something fails.")
@click.option("--background", is_flag=True, hidden=True)
@_JSON_OPTION
def run(sessions: tuple[str, ...], hook: bool, quiet: bool, background: bool, as_json: bool) -> int:
    """Archive what is new, once.

    A session that did not change costs a look at its files; one that grew stores what was added. The exit status is 1
    if a file could not be read; everything else is archived all the same.

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

    hooked = _read_hook_session_id() if hook else None
    if hook and hooked is None:
        return 0
    if background and hasattr(os, "nice"):
        os.nice(10)
    watched = not (quiet or as_json or background)
    done = archive_sessions(
        sessions,
        ids=[hooked] if hooked else (),
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
    """Read the session that the client names to its hooks on standard input."""
    import msgspec

    from turnlog.entries.layout import is_session_id

    text = sys.stdin.buffer.read(_MAX_HOOK_INPUT_BYTES) if sys.stdin is not None else b""
    try:
        value = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise UsageError("--hook: standard input holds no JSON; it is for hooks of the client") from None
    name = value.get("session_id") if isinstance(value, dict) else None
    return name if isinstance(name, str) and is_session_id(name) else None


@archive.command(name="list")
@click.option("--gone", is_flag=True, help="Only sessions that are no longer on disk.")
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
            "The archive holds no such session." if gone else "The archive is empty; `turnlog archive run` fills it."
        )


@archive.command()
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@click.option("--to", metavar="DIR", help="Below this config folder instead of the one it came from.")
@click.option("--at", metavar="DATE|N", help="The generation of that time, or that number (`archive list --json`).")
@click.option("--force", is_flag=True, help="Also over files that differ; a copy of them is kept.")
@click.option("--keep-times", is_flag=True, help="With the old times of the files; the client deletes by these.")
@click.option("--present", is_flag=True, help="Without files that had vanished before the session did.")
@_JSON_OPTION
def restore(
    names: tuple[str, ...], to: str | None, at: str | None, force: bool, keep_times: bool, present: bool, as_json: bool
) -> None:
    """Put archived sessions back, byte for byte, so that the client resumes them.

    SESSION is an id, the start of one, or a title. Files get the current time: the client deletes sessions by the time
    of their files, and would delete an old one again at its next start. A file that is there with other content is not
    touched.

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
@click.option("--repair", is_flag=True, help="Move what is damaged away, and rebuild manifests from blobs.")
@_JSON_OPTION
def verify(repair: bool, as_json: bool) -> int:
    """Read everything in the archive again and compare it with its hashes.

    The exit status is 1 if anything is damaged. With --repair, damaged blobs are moved away, and the next run stores
    anew what is still on disk. Of a session that is gone, a damaged manifest is rebuilt from the blobs that hold its
    lines; what is lost is listed.
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
@click.option("--keep", metavar="N", type=click.IntRange(1), help="Keep at most N generations of a session.")
@click.option("--older-than", metavar="AGE", help="Generations older than this: 90d, 12w, 2y or a date.")
@click.option("--max-size", metavar="SIZE", help="Until the archive is smaller than this: 500MB, 2GB.")
@click.option("--gone", is_flag=True, help="Also the last copy of sessions that are no longer on disk.")
@click.option("--yes", is_flag=True, help="Do it; without this, say what would be done.")
@_JSON_OPTION
def prune(keep: int | None, older_than: str | None, max_size: str | None, gone: bool, yes: bool, as_json: bool) -> None:
    """Make the archive smaller.

    The newest generation of a session is kept, unless the session is gone from disk and --gone is given. What nothing
    needs any more is removed in any case.

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
        raise click.UsageError("--gone needs --older-than or --max-size, which say what may go.")
    done = prune_archive(keep=keep, older_than=older_than, max_size=max_size, gone=gone, dry_run=not yes)
    if as_json:
        print_json(to_document(done))
    else:
        print_lines(render_pruning(done))


@archive.command()
@click.option("--systemd", "kind", flag_value="systemd", help="A timer of systemd for this user.")
@click.option("--cron", "kind", flag_value="cron", help="A line in this user's crontab.")
@click.option("--hook", "kind", flag_value="hook", help="Hooks in the client's settings.json: SessionEnd, PreCompact.")
@click.option("--remove", is_flag=True, help="Undo it; of all three kinds if none is named.")
@click.option("--config-dir", metavar="DIR", help="With --hook: the config folder whose settings are meant.")
@click.option("--yes", is_flag=True, help="Do it; without this, say what would be done.")
def install(kind: str | None, remove: bool, config_dir: str | None, yes: bool) -> None:
    """Have something else than turnlog start the archive: a timer, or the client itself.

    \b
    Examples:
      turnlog archive install --systemd         what it would do
      turnlog archive install --hook --yes
      turnlog archive install --remove --yes
    """
    from turnlog.api.archive_installation import plan_install_steps
    from turnlog.cli.output import print_lines, print_remark

    if kind is None and not remove:
        raise click.UsageError("name one of --systemd, --cron and --hook.")
    todo = plan_install_steps(kind, remove, config_dir)
    for step in todo:
        print_lines(step.words)
        if yes:
            step.act()
    if not todo:
        print_remark("There is nothing to do.")
    elif not yes:
        print_remark("Nothing was done; --yes does it.")
