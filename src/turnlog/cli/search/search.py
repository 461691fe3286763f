"""`turnlog search`: find text in all sessions on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.store.search.syntax import QueryError

_BAR_DELAY_SECONDS = 0.4
_MAX_CARET_CONTEXT_CHARS = 60


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", metavar="QUERY...", nargs=-1)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=20,
    metavar="N",
    help="Maximum number of sessions to show (default: 20).",
)
@click.option(
    "--hits",
    type=click.IntRange(1, 1000),
    default=3,
    metavar="N",
    help="Maximum number of hits to show per session (default: 3).",
)
@click.option(
    "--context",
    type=click.IntRange(0, 50),
    default=0,
    metavar="N",
    help="Also show N messages before and after each hit.",
)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest"]),
    default="relevance",
    help="Order of the sessions (default: relevance).",
)
@click.option(
    "--substring", metavar="TEXT", help="Find this exact text by reading all files instead of using the index."
)
@click.option("--regex", metavar="RE", help="Find matches for a Python regular expression by reading all files.")
@click.option("--other", is_flag=True, help="Instead of sessions, search .jsonl files whose names are not session ids.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def search(
    words: tuple[str, ...],
    limit: int,
    hits: int,
    context: int,
    sort: str,
    substring: str | None,
    regex: str | None,
    other: bool,
    as_json: bool,
) -> int:
    """Find text in all sessions: prompts, answers, thinking, calls, results, titles, paths and sub-agents.

    Each hit contains every word in QUERY. To find a phrase, put it in double quotes, and quote the whole query for the
    shell. round* matches words that start with "round". Combine words with AND, OR, NOT, -word and parentheses.
    Identifiers match as a whole or by their parts: `name` finds getUserName and user_name. To filter the hits, use
    project:, session:, branch:, role:, kind:, tool:, model:, file:, error:, after: and before:; separate alternative
    values with commas. See docs/search.md.

    \b
    Examples:
      turnlog search cent rounding
      turnlog search '"cent rounding" -cart project:webshop'
      turnlog search 'tool:Bash error:yes after:7d'
      turnlog search 'file:cart.py (refund OR discount)' --context 1
      turnlog search --substring '=> {' project:webshop
      turnlog search --regex 'TODO\\(\\w+\\)' --json
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.search import search_sessions
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress
    from turnlog.cli.search.hits import choose_snippet_width, list_search_remarks, render_search_report
    from turnlog.cli.terminal import TerminalScreen, detect_screen
    from turnlog.errors import UsageError
    from turnlog.store.search.syntax import QueryError

    if words == ("-h",):
        click.echo(click.get_current_context().get_help())
        return 0
    if not " ".join(words).strip() and substring is None and regex is None:
        raise UsageError("nothing to search for; try `turnlog search cent rounding`")
    if substring is not None and regex is not None:
        raise UsageError("use --substring or --regex, not both")
    config = load_config()
    screen = TerminalScreen() if as_json else detect_screen(config.color)
    show_scan = show_progress("{done_mb:,.0f} of {total_mb:,.0f} MB searched (Ctrl-C shows what was found)")
    try:
        with show_index_bar() as bar:
            report = search_sessions(
                " ".join(words),
                substring=substring,
                regex=regex,
                limit=limit,
                hits=hits,
                context=context,
                newest=sort == "newest",
                width=choose_snippet_width(screen),
                other_files=other,
                config=config,
                notify=bar.notify,
                progress=bar.show,
                scan_progress=show_scan,
            )
    except QueryError as error:
        _explain_query_error(error)
        return error.exit_status
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(render_search_report(report, screen))
        for remark in list_search_remarks(report):
            print_remark(remark)
    return 130 if report.scan and report.scan.interrupted else 0


def _explain_query_error(error: QueryError) -> None:
    """Explain what is wrong with a query and where."""
    from turnlog.cli.terminal import make_visible, measure_width, to_visible_line

    if sys.stderr is None:
        return
    start = max(error.at - _MAX_CARET_CONTEXT_CHARS, 0)
    before = ("…" if start else "") + make_visible(error.query[start : error.at])
    after = make_visible(error.query[error.at : error.at + _MAX_CARET_CONTEXT_CHARS])
    sys.stderr.write(f"turnlog: {to_visible_line(str(error))}\n  {before}{after}\n  {' ' * measure_width(before)}^\n")
    sys.stderr.flush()
