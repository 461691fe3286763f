"""`turnlog hook`: the client itself starts tracing, at the end of each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.trace.install import SettingsPlan

_USER_OPTION = click.option("--user", "scope", flag_value="user", default=True,
                     help="In your own settings: for all projects. The default.")  # fmt: skip
_PROJECT_OPTION = click.option("--project", "scope", flag_value="project",
                        help="In .claude/settings.json of this folder: for this project.")  # fmt: skip
_LOCAL_OPTION = click.option("--local", "scope", flag_value="local",
                      help="In .claude/settings.local.json of this folder: for you, in this project.")  # fmt: skip
_DRY_RUN_OPTION = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


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
@_USER_OPTION
@_PROJECT_OPTION
@_LOCAL_OPTION
@click.option("-t", "--target", "names", metavar="NAME", multiple=True,
              help="Only to this target; may be repeated. Without it: to all that are configured then.")  # fmt: skip
@_DRY_RUN_OPTION
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

    from turnlog.cli.output import print_lines
    from turnlog.cli.trace.hook_view import build_hook_options, render_hook_targets, settings_file
    from turnlog.trace.install import plan_hook_install

    _carry_out_plan(
        plan_hook_install(settings_file(scope), build_hook_options(names), time.time()),
        "the hook is installed",
        dry_run,
    )
    print_lines(render_hook_targets(names))


@hook.command()
@_USER_OPTION
@_PROJECT_OPTION
@_LOCAL_OPTION
@_DRY_RUN_OPTION
def uninstall(scope: str, dry_run: bool) -> None:
    """Take the hook out of the client's settings.

    If nothing else was changed since it was installed, the file is again what it was, byte for byte. What waits in the
    outbox stays there.
    """
    from turnlog.cli.trace.hook_view import settings_file
    from turnlog.trace.install import plan_hook_removal

    _carry_out_plan(plan_hook_removal(settings_file(scope)), "the hook is taken out", dry_run)


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say where the hook is installed and what went wrong.

    Also: which targets there are as this shell has them, and whether something waits for a worker.
    """
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.trace.hook_view import render_hook_status, to_hook_status_document

    found = to_hook_status_document()
    if as_json:
        print_json(found)
    else:
        print_lines(render_hook_status(found))


def _carry_out_plan(plan: SettingsPlan, what: str, dry_run: bool) -> None:
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import make_visible
    from turnlog.trace.install import apply_settings_plan

    if plan.is_idle:
        print_remark(f"{plan.path}: there is nothing to do.")
        return
    if dry_run:
        print_lines(_render_difference(plan))
        print_remark("Nothing was done; without --dry-run it is.")
        return
    apply_settings_plan(plan)
    print_lines([f"{make_visible(str(plan.path))}: {what}."])
    if plan.backup.exists():
        print_lines([f"The settings as they were before are in {make_visible(str(plan.backup))}."])


def _render_difference(plan: SettingsPlan) -> list[str]:
    import difflib

    from turnlog.cli.terminal import make_visible

    before, after = ((data or b"").decode(errors="replace").splitlines() for data in (plan.before, plan.after))
    return [
        make_visible(text) for text in difflib.unified_diff(before, after, str(plan.path), str(plan.path), lineterm="")
    ]
