"""`turnlog mcp`: let an agent search and read past sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.mcp_installation import McpChange, McpSettings

_EXTRA_MODULES = ("mcp", "mcp_types", "anyio", "pydantic")
_SCOPE_OPTION = click.option(
    "-s", "--scope", type=click.Choice(["user", "project", "local"]), default="user", show_default=True,
    help="user: all your projects. project: .mcp.json in this folder, for everyone. local: this project, only for you.",
)  # fmt: skip
_DRY_RUN_OPTION = click.option(
    "--dry-run", is_flag=True, help="Show how the configuration would change, without writing anything."
)
_ALL_OPTION = click.option("--all-projects", is_flag=True, help="Allow the sessions of all projects on this machine.")
_SECRETS_OPTION = click.option("--no-redact", is_flag=True, help="Don't replace secrets with placeholders.")


@click.group(invoke_without_command=True)
@click.option("--project", "folder", metavar="FOLDER", type=click.Path(path_type=Path),
              help="Allow the sessions of this folder and those below it (default: the current project).")  # fmt: skip
@_ALL_OPTION
@_SECRETS_OPTION
@click.pass_context
def mcp(context: click.Context, folder: Path | None, all_projects: bool, no_redact: bool) -> None:
    """Let an agent search and read past sessions, through an MCP server.

    `turnlog mcp` runs the server on standard input and output; MCP clients start it. `turnlog mcp install` adds it to
    Claude Code. The server only reads. Agents can read the sessions of the current project; secrets are replaced with
    placeholders. Requires the package mcp: `pip install 'turnlog[mcp]'`.

    \b
    Examples:
      turnlog mcp install --skill       for all your projects, with a skill file
      turnlog mcp install --scope project
      turnlog mcp status
      turnlog mcp --project ~/webshop   what a client runs
    """
    if context.invoked_subcommand is not None:
        return
    if folder is not None and all_projects:
        raise click.UsageError("use --project or --all-projects, not both")
    _run_server(None if all_projects else folder or _find_current_project(), redact=not no_redact)


def _find_current_project() -> Path:
    """Return the folder in which the client was started, which it tells its servers."""
    named = os.environ.get("CLAUDE_PROJECT_DIR")
    return Path(named) if named and Path(named).is_dir() else Path.cwd()


def _run_server(folder: Path | None, *, redact: bool) -> None:
    from turnlog.cli.output import print_remark
    from turnlog.cli.progress import hide_work
    from turnlog.errors import TurnlogError, UsageError

    if folder is not None and not folder.expanduser().is_dir():
        raise UsageError(f"--project {folder}: no such folder")
    try:
        from turnlog.mcp.server import serve_sessions
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA_MODULES:
            raise
        raise TurnlogError("turnlog mcp requires the package mcp; run `pip install 'turnlog[mcp]'`") from None
    from turnlog.mcp.library import SessionLibrary
    from turnlog.mcp.project_scope import ProjectScope

    if sys.stdin is not None and sys.stdin.isatty():
        print_remark("This is an MCP server, which waits for a client; `turnlog mcp install` adds it to Claude Code.")
    hide_work()
    scope = ProjectScope(None if folder is None else folder.expanduser().absolute())
    serve_sessions(SessionLibrary(scope, redact=redact))


@mcp.command()
@_SCOPE_OPTION
@_ALL_OPTION
@_SECRETS_OPTION
@click.option("--skill", is_flag=True, help="Also install a skill that tells agents when to look up past sessions.")
@_DRY_RUN_OPTION
def install(scope: str, all_projects: bool, no_redact: bool, skill: bool, dry_run: bool) -> None:
    """Add the server to Claude Code's configuration.

    All other settings remain unchanged, byte for byte, and turnlog keeps a copy of the original file next to it.
    Sessions that are running get the server when they are restarted. Claude Code asks before it uses a server from
    .mcp.json.

    \b
    Examples:
      turnlog mcp install --dry-run
      turnlog mcp install --skill
      turnlog mcp install --scope local --all-projects
      turnlog mcp install --no-redact
    """
    from turnlog.api.mcp_installation import install_mcp_server, read_mcp_status
    from turnlog.cli.output import print_remark

    done = install_mcp_server(scope, all_projects=all_projects, redact=not no_redact, skill=skill, dry_run=dry_run)
    _print_change(done, "MCP server installed", "skill installed", dry_run)
    if not dry_run and not read_mcp_status().available:
        print_remark("The server can't start yet: run `pip install 'turnlog[mcp]'`.")


@mcp.command()
@_SCOPE_OPTION
@_DRY_RUN_OPTION
def uninstall(scope: str, dry_run: bool) -> None:
    """Remove the server, and the skill file unless somebody has edited it.

    If nothing else in the file has changed since the server was installed, the original file is restored, byte for
    byte.

    \b
    Examples:
      turnlog mcp uninstall
      turnlog mcp uninstall --scope project --dry-run
    """
    from turnlog.api.mcp_installation import uninstall_mcp_server

    _print_change(uninstall_mcp_server(scope, dry_run=dry_run), "MCP server removed", "skill removed", dry_run)


@mcp.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def status(as_json: bool) -> None:
    """Show where the server is installed, and what agents may read."""
    from turnlog.api.documents import to_document
    from turnlog.api.mcp_installation import read_mcp_status
    from turnlog.cli.output import print_json, print_lines

    found = read_mcp_status()
    if as_json:
        print_json(to_document(found))
        return
    print_lines(line for item in found.settings for line in _render_settings(item))
    if not found.available:
        print_lines(["The package mcp is missing: run `pip install 'turnlog[mcp]'`."])


def _render_settings(item: McpSettings) -> Iterator[str]:
    from turnlog.cli.terminal import make_visible, to_visible_line

    if item.error:
        yield f"{item.scope:<9}{to_visible_line(item.error)}"
        return
    words = "not installed"
    if item.installed:
        words = "installed" if item.current else "installed, by another turnlog or edited"
        words += ", all projects" if item.all_projects else ", current project"
        words += "" if item.redacted else ", secrets included"
    yield f"{item.scope:<9}{words}  {make_visible(str(item.path))}"
    if item.skill:
        yield f"{'':<9}skill  {make_visible(str(item.skill))}"


def _print_change(change: McpChange, effect: str, skill_effect: str, dry_run: bool) -> None:
    from turnlog.cli.settings_plans import print_settings_plan

    print_settings_plan(change.settings, effect, dry_run)
    if change.skill:
        print_settings_plan(change.skill, skill_effect, dry_run)
