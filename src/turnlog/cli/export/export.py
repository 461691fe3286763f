"""`turnlog export`: sessions for others, in eight formats and those of other packages."""

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
    """The built-in formats, and those of other packages, which are looked up only if they matter."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Name all formats."""
        return _list_all_formats().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Accept a built-in format without looking for others."""
        known: click.Choice[str] = self if value in EXPORT_FORMATS else _list_all_formats()
        return click.Choice.convert(known, value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete all formats."""
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
    help="How to write it; without it, by the ending of FILE, or html.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    help="Where to write it; - is standard output. Without it, a file here, named by the title.",
)
@click.option("-t", "--turns", metavar="N|A..B", help="Only this turn or range of turns, counted from 1.")
@click.option("--branch", metavar="K|UUID|all", help="Branch, by its number or last entry; `all` shows all.")
@click.option("--no-tools", is_flag=True, help="Without tool calls, and so without sub-agents.")
@click.option("--no-thinking", is_flag=True, help="Without what the model thought.")
@click.option("--no-agents", is_flag=True, help="Without the transcripts of sub-agents.")
@click.option("--images/--no-images", default=None, help="With images and documents; with --share only on request.")
@click.option("--meta", is_flag=True, help="Also the client's own book-keeping.")
@click.option("--details", is_flag=True, help="In Markdown: fold calls and thinking away, in HTML that GitHub knows.")
@click.option("--redact/--no-redact", default=None, help="Replace API keys, tokens and passwords with placeholders.")
@click.option(
    "--share", is_flag=True, help="For strangers: --redact, also e-mails and names in home folders, and --no-images."
)
@click.option(
    "-p", "--project", metavar="P", help="Folder or name of a project: all its sessions, and those of folders below it."
)
@click.option("-a", "--all", "everything", is_flag=True, help="All sessions of this machine.")
@click.option("--one-file", is_flag=True, help="Never several HTML pages, however long the session is.")
@click.option("--browser", metavar="PROGRAM", help="The Chromium or Chrome that prints PDF.")
@click.option("--force", is_flag=True, help="Replace what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON (docs/json.md).")
def export(session: str | None, **words: Any) -> None:
    """Write a session for others: as a page, a document, or data.

    HTML is one file that works anywhere, without a network and without scripts; a long session becomes several pages.
    With --project or --all, HTML is a small site with an index, Parquet one set of tables, and the other formats a
    folder with a file for each session. The session itself is never changed. SESSION is a path, an id or the start of
    one, a title, or `last`. What each format holds and leaves out: docs/export.md.

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

    project, everything, as_json = words.pop("project"), words.pop("everything"), words.pop("as_json")
    form, output, force = words.pop("form"), words.pop("output"), words.pop("force")
    for name in ("tools", "thinking", "agents"):
        words[name] = not words.pop(f"no_{name}")
    options, form, is_many = ExportOptions(**words), choose_format(form, output), everything or project is not None
    _check_words(session, form, output, is_many=is_many, as_json=as_json)
    check_export_options(options, form, many=is_many, prefix="--")
    progress = show_progress("exporting: {done:,} of {total:,} …")
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


def _check_words(session: str | None, form: str, output: str | None, *, is_many: bool, as_json: bool) -> None:
    """Refuse words of the command line that don't go together."""
    if is_many == (session is not None):
        raise UsageError("give a SESSION, or --project P, or --all" + (", and not both" if session else ""))
    if output == "-" and (is_many or form == "parquet"):
        raise UsageError("--output - is for one SESSION in a format of one file; give the name of a folder")
    if output == "-" and as_json:
        raise UsageError("--json tells what was written and can't go where the export goes; leave out --output -")


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
