"""`turnlog hook`: make Claude Code start tracing after each turn, and report what its sessions are doing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.trace_hook import HookSettings, HookStatus

_USER_OPTION = click.option("--user", "scope", flag_value="user", default=True,
                     help="Use your user settings, for all projects (default).")  # fmt: skip
_PROJECT_OPTION = click.option("--project", "scope", flag_value="project",
                        help="Use .claude/settings.json in this folder, for everyone in this project.")  # fmt: skip
_LOCAL_OPTION = click.option("--local", "scope", flag_value="local",
                      help="Use .claude/settings.local.json in this folder, only for you.")  # fmt: skip
_TRACE_OPTION = click.option("--trace", is_flag=True, help="Send finished turns to tracing backends.")
_LIVE_OPTION = click.option("--live", is_flag=True, help="Report what sessions are doing, for live views.")
_DRY_RUN_OPTION = click.option(
    "--dry-run", is_flag=True, help="Show how the settings would change, without writing anything."
)


@click.group()
def hook() -> None:
    """Install a Claude Code hook for tracing and live views.

    For tracing, the hook starts a worker in the background when a turn, a sub-agent or a session ends, and exits, so
    Claude Code never waits for a server. The worker sends the spans that are final. Spans that a server does not accept
    wait in the outbox (see `turnlog trace status`).

    For live views, the hook appends one line to a file when a session starts, gets a prompt, needs permission, finishes
    a turn or ends. Live views can then show these states with certainty instead of inferring them.

    \b
    Examples:
      turnlog hook install                       trace all projects, to all targets
      turnlog hook install --local --target team
      turnlog hook install --live                report what sessions are doing
      turnlog hook status
      turnlog hook uninstall
    """


@hook.command()
@_USER_OPTION
@_PROJECT_OPTION
@_LOCAL_OPTION
@click.option("-t", "--target", "names", metavar="NAME", multiple=True,
              help="Send only to this target (repeatable; default: all configured targets).")  # fmt: skip
@_TRACE_OPTION
@_LIVE_OPTION
@_DRY_RUN_OPTION
def install(scope: str, names: tuple[str, ...], trace: bool, live: bool, dry_run: bool) -> None:
    """Add the hook to Claude Code's settings.

    Without --trace or --live, the hook is installed for tracing. One hook serves both purposes; installing it for one
    purpose doesn't remove it for the other.

    All other settings remain unchanged, byte for byte, and turnlog keeps a copy of the original file next to it. If the
    hook is already installed, only the targets and the path to turnlog are updated. To use the hook in running
    sessions, restart Claude Code. --live requires Claude Code 2.0.50 or newer.

    \b
    Examples:
      turnlog hook install --dry-run
      turnlog hook install --project --target phoenix
      turnlog hook install --live
      turnlog hook install --trace --live
    """
    from turnlog.api.trace_hook import install_hook
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.settings_plans import print_settings_plan
    from turnlog.trace.hook_settings import read_installed_hooks

    is_traced = trace or not live or bool(names)
    plan = install_hook(scope, trace=is_traced, live=live, targets=names, dry_run=dry_run)
    print_settings_plan(plan, "hook installed", dry_run)
    if not dry_run and read_installed_hooks(plan.path).is_disabled:
        print_remark("disableAllHooks is set in this file: Claude Code runs no hooks until you remove it.")
    if is_traced:
        print_lines(_render_targets(names))


@hook.command()
@_USER_OPTION
@_PROJECT_OPTION
@_LOCAL_OPTION
@click.option("--trace", is_flag=True, help="Remove only tracing.")
@click.option("--live", is_flag=True, help="Remove only the reporting for live views.")
@_DRY_RUN_OPTION
def uninstall(scope: str, trace: bool, live: bool, dry_run: bool) -> None:
    """Remove the hook from Claude Code's settings.

    With --trace or --live, the hook is removed only for that purpose and kept for the other one.

    If nothing else in the file has changed since the hook was installed, the original file is restored, byte for byte.
    Spans in the outbox are kept.
    """
    from turnlog.api.trace_hook import uninstall_hook
    from turnlog.cli.settings_plans import print_settings_plan

    is_whole = not trace and not live
    plan = uninstall_hook(scope, trace=trace or is_whole, live=live or is_whole, dry_run=dry_run)
    print_settings_plan(plan, "hook removed", dry_run)


@hook.command(hidden=True)
def run() -> int:
    """Run the hook of the Claude Code plugin, which passes an event on standard input (`turnlog.__main__` does it)."""
    from turnlog.cli.trace.plugin_hook import run_plugin_hook

    return run_plugin_hook()


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def status(as_json: bool) -> None:
    """Show where the hook is installed and what its latest error was.

    The output also lists the targets that are configured in this shell, the requests that are waiting for a worker, and
    the size of the reports for live views.
    """
    from turnlog.api.documents import to_document
    from turnlog.api.trace_hook import read_hook_status
    from turnlog.cli.output import print_json, print_lines

    found = read_hook_status()
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(_render_status(found))


def _render_targets(names: Sequence[str]) -> list[str]:
    """List the targets configured in this environment; Claude Code may run with different variables."""
    import os

    from turnlog.api.config import load_config
    from turnlog.cli.terminal import to_visible_line
    from turnlog.errors import UsageError
    from turnlog.trace.targets import variables
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets

    try:
        found = list_configured_targets(load_config().trace, os.environ, names)
    except UsageError as error:
        return [f"With the current settings, nothing would be sent: {to_visible_line(str(error))}"]
    if not found:
        return [f"No target is configured yet: {NO_TARGET_REMEDY}."]
    lines = [f"Spans go to {', '.join(to_visible_line(target.display_name) for target in found)}."]
    if variables.has_otel(os.environ):
        hidden = "Newer versions of Claude Code hide OTEL_* variables from hooks"
        lines.append(f"{hidden}: configure that target in config.toml (see docs/trace.md).")
    return lines


def _render_status(found: HookStatus) -> Iterator[str]:
    from turnlog.cli.terminal import make_visible, to_visible_line
    from turnlog.cli.time_format import format_client_time
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY

    for item in found.settings:
        yield f"{item.scope:<8} {_describe_state(item)}  {make_visible(str(item.path))}"
        if item.disabled:
            yield "         disableAllHooks is set here: Claude Code does not run hooks"
        if item.error:
            yield f"         {to_visible_line(item.error)}"
    targets = ", ".join(to_visible_line(name) for name in found.targets)
    yield f"targets  {to_visible_line(found.problem or '') or targets or f'none: {NO_TARGET_REMEDY}'}"
    wakes = found.wakes
    yield f"wakes    {wakes.waiting} waiting, {wakes.broken} broken (started by the hook, not handled by a worker yet)"
    reports = found.reports
    latest = f", latest {format_client_time(reports.latest)}" if reports.latest else ""
    yield f"reports  {reports.bytes:,} bytes{latest} (left by the hook for live views)"
    if reports.problem:
        yield f"         {to_visible_line(reports.problem)}"
    if found.trouble:
        yield f"trouble  {format_client_time(found.trouble.time)}: {to_visible_line(found.trouble.words)}"


def _describe_state(item: HookSettings) -> str:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.cli.time_format import format_client_time

    if not item.installed:
        return "not installed"
    words = f"installed {format_client_time(item.since)}" if item.since else "installed"
    words += f" for {' and '.join(item.purposes)}"
    if not item.current:
        words += ", but not by this turnlog or not for all events; run `turnlog hook install` to fix that"
    return words + (f", only to {', '.join(map(to_visible_line, item.targets))}" if item.targets else "")
