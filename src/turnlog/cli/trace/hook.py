"""`turnlog hook`: the client itself starts tracing, at the end of each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.trace.install import Plan

_USER = click.option("--user", "scope", flag_value="user", default=True,
                     help="In your own settings: for all projects. The default.")  # fmt: skip
_PROJECT = click.option("--project", "scope", flag_value="project",
                        help="In .claude/settings.json of this folder: for this project.")  # fmt: skip
_LOCAL = click.option("--local", "scope", flag_value="local",
                      help="In .claude/settings.local.json of this folder: for you, in this project.")  # fmt: skip
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


@click.group()
def hook() -> None:
    """Have the client send each turn to a tracing backend when it ends.

    The hook notes that a turn, a sub-agent or a session has ended, starts a worker in the background, and is gone: the
    client never waits for a server. The worker sends what became final; what a server does not take waits in the
    outbox (`turnlog trace status`).

    \b
    Examples:
      turnlog hook install                       in all projects, to all targets
      turnlog hook install --local --target team
      turnlog hook status
      turnlog hook uninstall
    """


@hook.command()
@_USER
@_PROJECT
@_LOCAL
@click.option("-t", "--target", "names", metavar="NAME", multiple=True,
              help="Only to this target; may be repeated. Without it: to all that are configured then.")  # fmt: skip
@_DRY_RUN
def install(scope: str, names: tuple[str, ...], dry_run: bool) -> None:
    """Put the hook into the client's settings.

    Everything else in the settings stays as it is, byte for byte; a copy of the file is kept beside it. Installing
    again changes nothing, or only what is different: other targets, another place of turnlog. Clients that run take it
    up when they are started again.

    \b
    Examples:
      turnlog hook install --dry-run
      turnlog hook install --project --target phoenix
    """
    import time

    from turnlog.cli.output import say
    from turnlog.cli.trace.hook_view import settings_file, targets_lines, wish
    from turnlog.trace.install import installing

    _do(installing(settings_file(scope), wish(names), time.time()), "the hook is installed", dry_run)
    say(targets_lines(names))


@hook.command()
@_USER
@_PROJECT
@_LOCAL
@_DRY_RUN
def uninstall(scope: str, dry_run: bool) -> None:
    """Take the hook out of the client's settings.

    If nothing else was changed since it was installed, the file is again what it was, byte for byte. What waits in the
    outbox stays there.
    """
    from turnlog.cli.trace.hook_view import settings_file
    from turnlog.trace.install import uninstalling

    _do(uninstalling(settings_file(scope)), "the hook is taken out", dry_run)


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say where the hook is installed and what went wrong.

    Also: which targets there are as this shell has them, and whether something waits for a worker.
    """
    from turnlog.cli.output import dump, say
    from turnlog.cli.trace.hook_view import status_document, status_lines

    found = status_document()
    if as_json:
        dump(found)
    else:
        say(status_lines(found))


def _do(plan: Plan, what: str, dry_run: bool) -> None:
    from turnlog.cli.output import remark, say
    from turnlog.cli.terminal import visible
    from turnlog.trace.install import carry_out

    if plan.is_idle:
        remark(f"{plan.path}: there is nothing to do.")
        return
    if dry_run:
        say(_difference(plan))
        remark("Nothing was done; without --dry-run it is.")
        return
    carry_out(plan)
    say([f"{visible(str(plan.path))}: {what}."])
    if plan.backup.exists():
        say([f"The settings as they were before are in {visible(str(plan.backup))}."])


def _difference(plan: Plan) -> list[str]:
    import difflib

    from turnlog.cli.terminal import visible

    before, after = ((data or b"").decode(errors="replace").splitlines() for data in (plan.before, plan.after))
    return [visible(text) for text in difflib.unified_diff(before, after, str(plan.path), str(plan.path), lineterm="")]
