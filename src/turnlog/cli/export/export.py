"""`turnlog export`: export sessions in eight formats, plus those that plugins add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.exports import ExportOptions, ExportResult

_MAX_LISTED_SKIPS = 5

EXPORT_FORMATS = ("html", "md", "txt", "pdf", "json", "messages", "openai", "parquet")


class ExportFormatChoice(click.Choice[str]):
    """The built-in formats and those from plugins, which are looked up only when needed."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return _list_all_formats().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Accept a built-in format without looking for plugins."""
        known: click.Choice[str] = self if value in EXPORT_FORMATS else _list_all_formats()
        return click.Choice.convert(known, value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _list_all_formats().shell_complete(ctx, param, incomplete)


def _list_all_formats() -> click.Choice[str]:
    from turnlog.plugin_lookup import EXPORTER_GROUP, list_plugin_names

    return click.Choice([*EXPORT_FORMATS, *sorted({*list_plugin_names(EXPORTER_GROUP)}.difference(EXPORT_FORMATS))])


@click.command()
@click.argument("session", required=False)
@click.option(
    "-f",
    "--format",
    "form",
    type=ExportFormatChoice(EXPORT_FORMATS),
    help="Export format (default: from the extension of FILE, otherwise html).",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    help="File to write to, or - for standard output (default: a file in this folder, named after the title).",
)
@click.option("-t", "--turns", metavar="N|A..B", help="Export only this turn or range of turns, numbered from 1.")
@click.option(
    "--branch",
    metavar="K|UUID|all",
    help="Branch to export, by number or by the uuid of its last entry; `all` exports every branch.",
)
@click.option("--no-tools", is_flag=True, help="Leave out tool calls and sub-agents.")
@click.option("--no-thinking", is_flag=True, help="Leave out thinking.")
@click.option("--no-agents", is_flag=True, help="Leave out the transcripts of sub-agents.")
@click.option(
    "--images/--no-images",
    default=None,
    help="Include images and documents (default, unless --share is used).",
)
@click.option("--meta", is_flag=True, help="Include Claude Code's own metadata.")
@click.option(
    "--details",
    is_flag=True,
    help="In Markdown, make calls and thinking collapsible with HTML tags that GitHub supports.",
)
@click.option(
    "--redact/--no-redact",
    default=None,
    help="Replace API keys, tokens and passwords with placeholders (default: only if --share is used).",
)
@click.option(
    "--share",
    is_flag=True,
    help="Make the export safer to share: redact it, including email addresses and user names, and leave out images.",
)
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Export all sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Export all sessions on this machine.")
@click.option("--one-file", is_flag=True, help="Write a single HTML page, however long the session is.")
@click.option("--browser", metavar="PROGRAM", help="Chromium or Chrome executable that creates the PDF.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print the list of written files as JSON (see docs/json.md).")
def export(session: str | None, **values: Any) -> None:
    """Export sessions as a web page, a document, or data.

    An HTML export works offline and without scripts; it is a single file, or several pages if the session is long. With
    --project or --all, an HTML export is a small site with an index, a Parquet export is one set of tables, and any
    other export is a folder with one file per session. Exporting never changes a session. docs/export.md describes what
    each format includes. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog export last
      turnlog export last --share -o for-the-ticket.html
      turnlog export bee7dbd3 --format md --turns 2..3 --no-thinking
      turnlog export last -f messages -o - | jq '.messages | length'
      turnlog export --project . -o site
      turnlog export --all --format parquet -o tables
    """
    from turnlog.api.documents import to_document
    from turnlog.api.exports import (
        ExportOptions,
        check_export_options,
        choose_format,
        export_session,
        export_sessions,
    )
    from turnlog.cli.output import StandardOutput, print_json, print_remark
    from turnlog.cli.progress import show_progress

    project, everything, as_json = values.pop("project"), values.pop("everything"), values.pop("as_json")
    form, output, force = values.pop("form"), values.pop("output"), values.pop("force")
    for name in ("tools", "thinking", "agents"):
        values[name] = not values.pop(f"no_{name}")
    options, form, is_many = ExportOptions(**values), choose_format(form, output), everything or project is not None
    _check_arguments(session, form, output, is_many=is_many, as_json=as_json)
    check_export_options(options, form, many=is_many, prefix="--")
    progress = show_progress("exporting: {share} …")
    if session is None:
        done = export_sessions(
            project, output, format=form, options=options, force=force, notify=print_remark, progress=progress
        )
    else:
        goal = StandardOutput() if output == "-" else output
        done = export_session(
            session, goal, format=form, options=options, force=force, notify=print_remark, progress=progress
        )
    if as_json:
        print_json(to_document(done))
    else:
        _print_result(done, options, is_many=is_many)


def _check_arguments(session: str | None, form: str, output: str | None, *, is_many: bool, as_json: bool) -> None:
    """Refuse arguments that can't be combined."""
    if is_many == (session is not None):
        raise UsageError(
            "use only one of SESSION, --project P and --all" if session else "use SESSION, --project P or --all"
        )
    if output == "-" and (is_many or form == "parquet"):
        raise UsageError("--output - requires one SESSION and a single-file format; otherwise, write to a folder")
    if output == "-" and as_json:
        raise UsageError("--json and --output - both write to standard output; use only one of them")


def _print_result(done: ExportResult, options: ExportOptions, *, is_many: bool) -> None:
    from turnlog.api.sentences import describe_export
    from turnlog.cli.output import print_lines, print_remark

    for item in done.skipped[:_MAX_LISTED_SKIPS]:
        print_remark(f"Left out: {item.reason}")
    if len(done.skipped) > _MAX_LISTED_SKIPS:
        print_remark(f"… and {len(done.skipped) - _MAX_LISTED_SKIPS:,} more sessions (--json lists them all)")
    lines = describe_export(done, options, is_many=is_many)
    if done.output is not None:
        print_lines(lines)
        return
    for text in lines:
        print_remark(text)
