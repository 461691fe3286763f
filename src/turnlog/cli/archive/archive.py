"""`turnlog archive`: copies of sessions that outlive the client's clean-up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")


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
    from turnlog.cli.config import data_dir
    from turnlog.cli.output import say
    from turnlog.store.archive.schedule import maybe_start, turn_on

    turn_on(data_dir(), every)
    maybe_start(data_dir())
    say(
        [f"The archive is on: every {every} hours, beside other commands. The first run has started in the background."]
    )


@archive.command()
def off() -> None:
    """Archive no more beside other commands; what is archived stays."""
    from turnlog.cli.config import data_dir
    from turnlog.cli.output import say
    from turnlog.store.archive.schedule import turn_off

    turn_off(data_dir())
    say(
        ["The archive is off; what it holds stays. Timers and hooks are removed by `turnlog archive install --remove`."]
    )


@archive.command()
@_JSON
def status(as_json: bool) -> None:
    """Say what the archive holds, and what the client will delete."""
    from turnlog.cli.archive.view import status_document, status_lines
    from turnlog.cli.config import data_dir, load
    from turnlog.cli.named import folders
    from turnlog.cli.output import dump, say

    found = status_document(data_dir(), folders(load()))
    if as_json:
        dump(found)
    else:
        say(status_lines(found))


@archive.command()
@click.option("--session", "sessions", metavar="ID", multiple=True, help="Only this session; may be repeated.")
@click.option("--hook", is_flag=True, help="Only the session that the client names on standard input.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something fails.")
@click.option("--background", is_flag=True, hidden=True)
@_JSON
def run(sessions: tuple[str, ...], hook: bool, quiet: bool, background: bool, as_json: bool) -> int:
    """Archive what is new, once.

    A session that did not change costs a look at its files; one that grew stores what was added. The exit status is 1
    if a file could not be read; everything else is archived all the same.

    \b
    Examples:
      turnlog archive run
      turnlog archive run --quiet --session 932fc80a-c05a-4969-ba64-42dfe573deb6
    """
    from turnlog.cli.archive.run import hooked, once
    from turnlog.cli.archive.view import run_lines
    from turnlog.cli.output import dump, remark, say

    named = hooked() if hook else None
    if hook and named is None:
        return 0
    found = once(sessions, named, background=background, watched=not (quiet or as_json or background))
    if as_json:
        dump(found)
    elif not (quiet or background):
        say(run_lines(found))
    for trouble in found["troubles"]:
        remark(f"not archived: {trouble}")
    return 1 if found["troubles"] else 0


@archive.command(name="list")
@click.option("--gone", is_flag=True, help="Only sessions that are no longer on disk.")
@_JSON
def list_sessions(gone: bool, as_json: bool) -> None:
    """List the archived sessions, newest first."""
    from turnlog.cli.archive.view import list_document, list_lines
    from turnlog.cli.config import load
    from turnlog.cli.output import dump, remark, say
    from turnlog.cli.terminal import screen

    found = list_document(_archive(), gone)
    if as_json:
        dump(found)
        return
    say(list_lines(found, screen(load().color)))
    if not found["sessions"]:
        remark(
            "The archive holds no such session." if gone else "The archive is empty; `turnlog archive run` fills it."
        )


@archive.command()
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@click.option("--to", metavar="DIR", help="Below this config folder instead of the one it came from.")
@click.option("--at", metavar="DATE|N", help="The generation of that time, or that number (`archive list --json`).")
@click.option("--force", is_flag=True, help="Also over files that differ; a copy of them is kept.")
@click.option("--keep-times", is_flag=True, help="With the old times of the files; the client deletes by these.")
@click.option("--present", is_flag=True, help="Without files that had vanished before the session did.")
@_JSON
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
    from turnlog.cli.archive.run import put_back
    from turnlog.cli.archive.view import restore_lines
    from turnlog.cli.archive.words import state
    from turnlog.cli.output import dump, say

    when = state(at)
    found = put_back(names, to=to, at=when, force=force, keep_times=keep_times, with_gone=not present)
    if as_json:
        dump({"sessions": found})
    else:
        say(restore_lines(found, str(Path(to).expanduser().absolute()) if to is not None else None))


@archive.command()
@click.option("--repair", is_flag=True, help="Move what is damaged away, and rebuild manifests from blobs.")
@_JSON
def verify(repair: bool, as_json: bool) -> int:
    """Read everything in the archive again and compare it with its hashes.

    The exit status is 1 if anything is damaged. With --repair, damaged blobs are moved away, and the next run stores
    anew what is still on disk. Of a session that is gone, a damaged manifest is rebuilt from the blobs that hold its
    lines; what is lost is listed.
    """
    from turnlog.cli.archive.view import verify_document, verify_lines
    from turnlog.cli.config import load
    from turnlog.cli.named import folders
    from turnlog.cli.output import dump, remark, say
    from turnlog.store.archive.rebuild import mend_manifests
    from turnlog.store.archive.verify import put_aside
    from turnlog.store.archive.verify import verify as check

    found = check(_archive())
    if repair and found.blobs_damaged:
        remark(f"Damaged blobs are in {put_aside(_archive(), found)} now; `turnlog archive run` replaces what it can.")
    mended = (
        [str(item) for item in mend_manifests(_archive(), folders(load()))]
        if repair and found.manifests_damaged
        else []
    )
    for text in mended:
        remark(text)
    if as_json:
        dump(verify_document(found, mended))
    else:
        say(verify_lines(found))
    return 0 if found.is_sound else 1


@archive.command()
@click.option("--keep", metavar="N", type=click.IntRange(1), help="Keep at most N generations of a session.")
@click.option("--older-than", metavar="AGE", help="Generations older than this: 90d, 12w, 2y or a date.")
@click.option("--max-size", metavar="SIZE", help="Until the archive is smaller than this: 500MB, 2GB.")
@click.option("--gone", is_flag=True, help="Also the last copy of sessions that are no longer on disk.")
@click.option("--yes", is_flag=True, help="Do it; without this, say what would be done.")
@_JSON
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
    from turnlog.cli.archive.view import prune_document, prune_lines
    from turnlog.cli.archive.words import before_ns, size
    from turnlog.cli.output import dump, say
    from turnlog.store.archive.prune import Rules, plan
    from turnlog.store.archive.prune import prune as drop

    if gone and older_than is None and max_size is None:
        raise click.UsageError("--gone needs --older-than or --max-size, which say what may go.")
    rules = Rules(keep, before_ns(older_than), size(max_size), gone)
    found = (drop if yes else plan)(_archive(), rules)
    if as_json:
        dump(prune_document(found, yes))
    else:
        say(prune_lines(found, yes))


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
    from turnlog.cli.archive.install import steps
    from turnlog.cli.output import remark, say

    if kind is None and not remove:
        raise click.UsageError("name one of --systemd, --cron and --hook.")
    todo = steps(kind, remove, config_dir)
    for step in todo:
        say(step.words)
        if yes:
            step.act()
    if not todo:
        remark("There is nothing to do.")
    elif not yes:
        remark("Nothing was done; --yes does it.")


def _archive() -> Archive:
    from turnlog.cli.config import data_dir
    from turnlog.store.archive.archive import Archive

    return Archive(data_dir())
