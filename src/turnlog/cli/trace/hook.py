"""`turnlog hook`: the client itself starts tracing, at the end of each turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnlog.api.config import config_file, load_config, trace_dir
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.cli.time_format import format_client_time, to_json_time
from turnlog.errors import TurnlogError, UsageError
from turnlog.trace import hook as client_hook
from turnlog.trace import trouble
from turnlog.trace.hook_settings import HOOK_EVENTS, HookOptions, read_installed_hooks

if TYPE_CHECKING:
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
    import time

    from turnlog.cli.output import print_lines
    from turnlog.trace.hook_settings import plan_hook_install

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

    from turnlog.trace.hook_settings import plan_hook_removal

    _carry_out_plan(plan_hook_removal(settings_file(scope)), "the hook is taken out", dry_run)


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say where the hook is installed and what went wrong.

    Also: which targets there are as this shell has them, and whether something waits for a worker.
    """
    from turnlog.cli.output import print_json, print_lines

    found = to_hook_status_document()
    if as_json:
        print_json(found)
    else:
        print_lines(render_hook_status(found))


def _carry_out_plan(plan: SettingsPlan, what: str, dry_run: bool) -> None:
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import make_visible
    from turnlog.trace.hook_settings import apply_settings_plan

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


SETTINGS_SCOPES = ("user", "project", "local")


def settings_file(scope: str) -> Path:
    """The file of the client's settings that a scope means."""
    from turnlog.entries.layout import list_config_candidates

    if scope == "user":
        return list_config_candidates()[0] / "settings.json"
    return Path.cwd() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def build_hook_options(names: Sequence[str]) -> HookOptions:
    """How the hook is to be called: it finds this data folder and these settings, whatever the client's variables."""
    config = config_file().absolute() if os.environ.get("TURNLOG_CONFIG") else None
    return HookOptions(trace_dir().absolute(), names, config)


def render_hook_targets(names: Sequence[str]) -> list[str]:
    """Where spans go, as far as it is known here; the client may have variables of its own."""
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets

    try:
        found = list_configured_targets(load_config().trace, os.environ, names)
    except UsageError as error:
        return [f"As things are here, nothing would be sent: {to_visible_line(str(error))}"]
    if found:
        return [
            f"Spans go to {', '.join(to_visible_line(target.display_name) for target in found)}.",
            *_warn_hidden_variables(),
        ]
    return [f"No target is configured yet: {NO_TARGET_REMEDY}."]


def _warn_hidden_variables() -> list[str]:
    from turnlog.trace.targets import variables

    said = "Newer clients keep OTEL_* variables from their hooks: name that target in config.toml; see docs/trace.md."
    return [said] if variables.has_otel(os.environ) else []


def to_hook_status_document() -> dict[str, Any]:
    """Where the hook is installed, where it sends to, and what went wrong."""
    from turnlog.trace.wakes import count_wakes

    folder = trace_dir()
    waiting, broken = count_wakes(folder)
    last = trouble.read_last_trouble(folder)
    targets, problem = _list_targets()
    return {
        "settings": [_to_settings_document(scope) for scope in SETTINGS_SCOPES],
        "targets": targets,
        "problem": problem,
        "wakes": {"waiting": waiting, "broken": broken},
        "trouble": last and {"time": to_json_time(last.time), "words": last.words},
    }


def _to_settings_document(scope: str) -> dict[str, Any]:
    path = settings_file(scope)
    found: dict[str, Any] = {"scope": scope, "path": str(path), "exists": path.exists(), "installed": False}
    empty: dict[str, Any] = {
        "events": [],
        "command": None,
        "current": False,
        "targets": [],
        "since": None,
        "disabled": False,
    }
    try:
        there = read_installed_hooks(path)
    except TurnlogError as error:
        return {**found, **empty, "error": str(error)}
    here = {sys.executable, client_hook.__file__, str(trace_dir().absolute())}
    return {
        **found,
        "installed": bool(there.events),
        "events": list(there.events),
        "command": there.commands[0] if there.commands else None,
        "current": {*there.events} >= {*HOOK_EVENTS}
        and len(there.commands) == 1
        and _is_own_command(there.commands[0], here),
        "targets": list(there.targets),
        "since": to_json_time(there.since),
        "disabled": there.is_disabled,
        "error": None,
    }


def _is_own_command(command: str, words: set[str]) -> bool:
    """Whether a command is one of this installation; a quote in a path is spelled differently in it."""
    plain = command.replace("'\"'\"'", "'")
    return all(word in plain for word in words)


def _list_targets() -> tuple[list[str], str | None]:
    from turnlog.trace.targets.targets import list_configured_targets

    try:
        return [target.display_name for target in list_configured_targets(load_config().trace, os.environ)], None
    except UsageError as error:
        return [], str(error)


def render_hook_status(found: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY

    for item in found["settings"]:
        yield f"{item['scope']:<8} {_describe_state(item)}  {make_visible(item['path'])}"
        if item["disabled"]:
            yield "         its disableAllHooks keeps the client from running any hook"
        if item["error"]:
            yield f"         {to_visible_line(item['error'])}"
    targets = ", ".join(to_visible_line(name) for name in found["targets"])
    yield f"targets  {to_visible_line(found['problem'] or '') or targets or f'none: {NO_TARGET_REMEDY}'}"
    wakes = found["wakes"]
    yield f"wakes    {wakes['waiting']} waiting, {wakes['broken']} broken (left by the hook, served by no worker yet)"
    if found["trouble"]:
        yield f"trouble  {format_client_time(found['trouble']['time'])}: {to_visible_line(found['trouble']['words'])}"


def _describe_state(item: dict[str, Any]) -> str:
    if not item["installed"]:
        return "not installed"
    words = f"installed {format_client_time(item['since'])}" if item["since"] else "installed"
    if not item["current"]:
        words += ", but not by this turnlog or not for all events; `turnlog hook install` puts that right"
    return words + (f", only to {', '.join(map(to_visible_line, item['targets']))}" if item["targets"] else "")
