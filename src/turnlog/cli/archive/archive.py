"""`turnlog archive`: copies of sessions that outlive the client's clean-up."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive

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
    from turnlog.api.config import data_dir
    from turnlog.cli.output import print_lines
    from turnlog.store.archive.schedule import maybe_start, turn_on_schedule

    turn_on_schedule(data_dir(), every)
    maybe_start(data_dir())
    print_lines(
        [f"The archive is on: every {every} hours, beside other commands. The first run has started in the background."]
    )


@archive.command()
def off() -> None:
    """Archive no more beside other commands; what is archived stays."""
    from turnlog.api.config import data_dir
    from turnlog.cli.output import print_lines
    from turnlog.store.archive.schedule import turn_off_schedule

    turn_off_schedule(data_dir())
    print_lines(
        ["The archive is off; what it holds stays. Timers and hooks are removed by `turnlog archive install --remove`."]
    )


@archive.command()
@_JSON_OPTION
def status(as_json: bool) -> None:
    """Say what the archive holds, and what the client will delete."""
    from turnlog.api.config import data_dir, load_config
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.archive.view import render_archive_status, to_archive_status_document
    from turnlog.cli.output import print_json, print_lines

    found = to_archive_status_document(data_dir(), list_config_folders(load_config()))
    if as_json:
        print_json(found)
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
    from turnlog.cli.archive.archive_run import archive_once, read_hook_session_id
    from turnlog.cli.archive.view import render_archive_run
    from turnlog.cli.output import print_json, print_lines, print_remark

    named = read_hook_session_id() if hook else None
    if hook and named is None:
        return 0
    found = archive_once(sessions, named, background=background, watched=not (quiet or as_json or background))
    if as_json:
        print_json(found)
    elif not (quiet or background):
        print_lines(render_archive_run(found))
    for trouble in found["troubles"]:
        print_remark(f"not archived: {trouble}")
    return 1 if found["troubles"] else 0


@archive.command(name="list")
@click.option("--gone", is_flag=True, help="Only sessions that are no longer on disk.")
@_JSON_OPTION
def list_sessions(gone: bool, as_json: bool) -> None:
    """List the archived sessions, newest first."""
    from turnlog.api.config import load_config
    from turnlog.cli.archive.view import render_archive_list, to_archive_list_document
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    found = to_archive_list_document(_open_archive(), gone)
    if as_json:
        print_json(found)
        return
    print_lines(render_archive_list(found, detect_screen(load_config().color)))
    if not found["sessions"]:
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
    from turnlog.cli.archive.archive_run import restore_archived_sessions
    from turnlog.cli.archive.view import render_restored_sessions
    from turnlog.cli.output import print_json, print_lines

    when = parse_generation(at)
    found = restore_archived_sessions(names, to=to, at=when, force=force, keep_times=keep_times, with_gone=not present)
    if as_json:
        print_json({"sessions": found})
    else:
        print_lines(render_restored_sessions(found, str(Path(to).expanduser().absolute()) if to is not None else None))


@archive.command()
@click.option("--repair", is_flag=True, help="Move what is damaged away, and rebuild manifests from blobs.")
@_JSON_OPTION
def verify(repair: bool, as_json: bool) -> int:
    """Read everything in the archive again and compare it with its hashes.

    The exit status is 1 if anything is damaged. With --repair, damaged blobs are moved away, and the next run stores
    anew what is still on disk. Of a session that is gone, a damaged manifest is rebuilt from the blobs that hold its
    lines; what is lost is listed.
    """
    from turnlog.api.config import load_config
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.archive.view import render_verification, to_verify_document
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.store.archive.rebuild import mend_manifests
    from turnlog.store.archive.verify import put_damaged_blobs_aside
    from turnlog.store.archive.verify import verify_archive as check

    found = check(_open_archive())
    if repair and found.blobs_damaged:
        print_remark(
            f"Damaged blobs are in {put_damaged_blobs_aside(_open_archive(), found)} now; `turnlog archive run` "
            f"replaces what it can."
        )
    mended = (
        [str(item) for item in mend_manifests(_open_archive(), list_config_folders(load_config()))]
        if repair and found.manifests_damaged
        else []
    )
    for text in mended:
        print_remark(text)
    if as_json:
        print_json(to_verify_document(found, mended))
    else:
        print_lines(render_verification(found))
    return 0 if found.is_sound else 1


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
    from turnlog.cli.archive.view import render_prune_plan, to_prune_document
    from turnlog.cli.output import print_json, print_lines
    from turnlog.store.archive.prune import PruneRules, plan_prune
    from turnlog.store.archive.prune import prune_archive as drop

    if gone and older_than is None and max_size is None:
        raise click.UsageError("--gone needs --older-than or --max-size, which say what may go.")
    rules = PruneRules(keep, parse_age_ns(older_than), parse_size_bytes(max_size), gone)
    found = (drop if yes else plan_prune)(_open_archive(), rules)
    if as_json:
        print_json(to_prune_document(found, yes))
    else:
        print_lines(render_prune_plan(found, yes))


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
    from turnlog.cli.archive.installation import plan_install_steps
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


def _open_archive() -> Archive:
    from turnlog.api.config import data_dir
    from turnlog.store.archive.archive import Archive

    return Archive(data_dir())


_AGE_PATTERN = re.compile(r"(\d+)\s*(h|d|w|m|y)", re.IGNORECASE)
_UNIT_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def parse_typed_time(text: str) -> datetime:
    """A date or a time of this machine; a mere date means the end of that day."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is no time; write 2026-11-03 or 2026-11-03T14:05") from None
    if len(text.strip()) <= 10:
        found += timedelta(days=1) - timedelta(microseconds=1)
    return found.astimezone()


def parse_generation(text: str | None) -> int | datetime | None:
    """A generation's number, or a time."""
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else parse_typed_time(text)


def parse_age_ns(text: str | None) -> int | None:
    """The time that lies an age back, or a date, in nanoseconds since 1970."""
    if text is None:
        return None
    if age := _AGE_PATTERN.fullmatch(text.strip()):
        return time.time_ns() - int(age[1]) * _UNIT_HOURS[age[2].lower()] * 3600 * 10**9
    try:
        return int(parse_typed_time(text).timestamp() * 1e9)
    except UsageError:
        raise UsageError(f"{text!r} is no age; write 90d, 12w, 2y or a date such as 2026-11-03") from None


def parse_size_bytes(text: str | None) -> int | None:
    """A number of bytes: `500MB`, `2 GB`, `1.5GiB`."""
    if text is None:
        return None
    found = _SIZE_PATTERN.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is no size; write 500MB or 2GB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2].upper() or " "))
