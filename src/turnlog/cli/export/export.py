"""`turnlog export`: sessions for others, in eight formats and those of other packages."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

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
@click.option("-t", "--turns", metavar="N|A..B", help="Only this turn, or these; they are numbered from 1.")
@click.option(
    "--branch", metavar="K|UUID|all", help="The branch with this number, or that ends with this entry; or all."
)
@click.option("--no-tools", is_flag=True, help="Without tool calls, and so without sub-agents.")
@click.option("--no-thinking", is_flag=True, help="Without what the model thought.")
@click.option("--no-agents", is_flag=True, help="Without the transcripts of sub-agents.")
@click.option("--images/--no-images", default=None, help="With images and documents; with --share only on request.")
@click.option("--meta", is_flag=True, help="Also the client's own book-keeping.")
@click.option("--details", is_flag=True, help="In Markdown: fold calls and thinking away, in HTML that GitHub knows.")
@click.option("--redact/--no-redact", default=None, help="Replace API keys, tokens and passwords by marks.")
@click.option(
    "--share", is_flag=True, help="For strangers: --redact, also e-mails and names in home folders, and --no-images."
)
@click.option("-p", "--project", metavar="P", help="All sessions of this folder and those below it, or of that name.")
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
    from turnlog.api.config import load_config
    from turnlog.cli.export.export_options import ExportOptions
    from turnlog.cli.export.export_run import run_export

    run_export(session, ExportOptions(**words), load_config())
