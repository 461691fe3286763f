"""`turnlog hook`: the client itself starts tracing, at the end of each turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.trace_hook import HookSettings, HookStatus
    from turnlog.trace.hook_settings import SettingsPlan

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
    from turnlog.api.trace_hook import install_hook
    from turnlog.cli.output import print_lines

    _print_plan(install_hook(scope, targets=names, dry_run=dry_run), "the hook is installed", dry_run)
    print_lines(_render_targets(names))


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
    from turnlog.api.trace_hook import uninstall_hook

    _print_plan(uninstall_hook(scope, dry_run=dry_run), "the hook is taken out", dry_run)


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say where the hook is installed and what went wrong.

    Also: which targets there are as this shell has them, and whether something waits for a worker.
    """
    from turnlog.api.documents import to_document
    from turnlog.api.trace_hook import read_hook_status
    from turnlog.cli.output import print_json, print_lines

    found = read_hook_status()
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(_render_status(found))


def _print_plan(plan: SettingsPlan, what: str, dry_run: bool) -> None:
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import make_visible

    if plan.is_idle:
        print_remark(f"{plan.path}: there is nothing to do.")
        return
    if dry_run:
        print_lines(_render_difference(plan))
        print_remark("Nothing was done; without --dry-run it is.")
        return
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


def _render_targets(names: Sequence[str]) -> list[str]:
    """Say where spans go, as far as it is known here; the client may have variables of its own."""
    import os

    from turnlog.api.config import load_config
    from turnlog.cli.terminal import to_visible_line
    from turnlog.errors import UsageError
    from turnlog.trace.targets import variables
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets

    try:
        found = list_configured_targets(load_config().trace, os.environ, names)
    except UsageError as error:
        return [f"As things are here, nothing would be sent: {to_visible_line(str(error))}"]
    if not found:
        return [f"No target is configured yet: {NO_TARGET_REMEDY}."]
    lines = [f"Spans go to {', '.join(to_visible_line(target.display_name) for target in found)}."]
    if variables.has_otel(os.environ):
        hidden = "Newer clients keep OTEL_* variables from their hooks"
        lines.append(f"{hidden}: name that target in config.toml; see docs/trace.md.")
    return lines


def _render_status(found: HookStatus) -> Iterator[str]:
    from turnlog.cli.terminal import make_visible, to_visible_line
    from turnlog.cli.time_format import format_client_time
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY

    for item in found.settings:
        yield f"{item.scope:<8} {_describe_state(item)}  {make_visible(str(item.path))}"
        if item.disabled:
            yield "         its disableAllHooks keeps the client from running any hook"
        if item.error:
            yield f"         {to_visible_line(item.error)}"
    targets = ", ".join(to_visible_line(name) for name in found.targets)
    yield f"targets  {to_visible_line(found.problem or '') or targets or f'none: {NO_TARGET_REMEDY}'}"
    wakes = found.wakes
    yield f"wakes    {wakes.waiting} waiting, {wakes.broken} broken (left by the hook, served by no worker yet)"
    if found.trouble:
        yield f"trouble  {format_client_time(found.trouble.time)}: {to_visible_line(found.trouble.words)}"


def _describe_state(item: HookSettings) -> str:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.cli.time_format import format_client_time

    if not item.installed:
        return "not installed"
    words = f"installed {format_client_time(item.since)}" if item.since else "installed"
    if not item.current:
        words += ", but not by this turnlog or not for all events; `turnlog hook install` puts that right"
    return words + (f", only to {', '.join(map(to_visible_line, item.targets))}" if item.targets else "")
