"""`turnlog search`: find texts in all sessions of this machine."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import apsw
import click

from turnlog.api.config import data_dir
from turnlog.store.search.filtered_scan import ScanOutcome, ScanRequest
from turnlog.store.search.filtered_scan import scan_indexed_files as scanned_files
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.needle import SearchNeedle
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.search import SearchOptions

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.cli.search.hits import SearchOutput


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", metavar="QUERY...", nargs=-1)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, metavar="N", help="Sessions to show; 20 if not given."
)
@click.option(
    "--hits", type=click.IntRange(1, 1000), default=3, metavar="N", help="Hits to show of each; 3 if not given."
)
@click.option("--context", type=click.IntRange(0, 50), default=0, metavar="N", help="Also N texts before and after.")
@click.option("--sort", type=click.Choice(["relevance", "newest"]), default="relevance", help="What comes first.")
@click.option("--substring", metavar="TEXT", help="Find these letters and signs anywhere, by reading all files.")
@click.option("--regex", metavar="RE", help="Find a regular expression (of Python), by reading all files.")
@click.option("--other", is_flag=True, help="Search the .jsonl files whose names are not session ids instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
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
    """Find texts in all sessions: prompts, answers, thinking, calls, results, titles, paths, sub-agents.

    All words of QUERY must be in one text. "Phrases" stand in quotes (inside of those for the shell), round* finds
    what begins so; AND, OR, NOT, -word and parentheses combine. Identifiers are found as typed and by their parts:
    `name` finds getUserName and user_name. Filters: project: session: role: kind: tool: model: file: error: after:
    before:, with commas between several values. docs/search.md tells more.

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
    from turnlog.cli.search.hits import SearchOutput, explain_query_error
    from turnlog.errors import UsageError
    from turnlog.store.search.search import SearchOptions
    from turnlog.store.search.syntax import QueryError

    if words == ("-h",):
        click.echo(click.get_current_context().get_help())
        return 0
    if not " ".join(words).strip() and substring is None and regex is None:
        raise UsageError("nothing to search for; say it as in `turnlog search cent rounding`")
    if substring is not None and regex is not None:
        raise UsageError("--substring and --regex: one of them is enough")
    wish = SearchOptions(limit, hits, sort == "newest", context)
    page = SearchOutput(" ".join(words), wish, as_json)
    try:
        if substring is None and regex is None:
            return _search_index(page, load_config(), other)
        return _scan_files(page, load_config(), substring, regex, other)
    except QueryError as error:
        explain_query_error(error)
        return error.exit_status


def _search_index(page: SearchOutput, config: Config, other: bool) -> int:
    from turnlog.api.config import data_dir
    from turnlog.cli.fresh_index import open_refreshed_index, open_refreshed_others
    from turnlog.store.search.index_source import IndexSource
    from turnlog.store.search.loose_search import search_loosely
    from turnlog.store.search.query import parse_query

    query = parse_query(page.query)
    with (open_refreshed_others if other else open_refreshed_index)(config) as (store, done):
        page.note_scope(store.db, done, query)
        found = search_loosely(
            store.db, query, page.fit_to_terminal(config), IndexSource(data_dir()).read_passage, page.trash
        )
        page.print_results(found)
    return 0


def _scan_files(page: SearchOutput, config: Config, substring: str | None, regex: str | None, other: bool) -> int:

    from turnlog.cli.fresh_index import open_refreshed_index, open_refreshed_others
    from turnlog.store.search import needle
    from turnlog.store.search.query import parse_query

    wanted = needle.build_text_needle(substring) if substring is not None else needle.build_regex_needle(regex or "")
    query = parse_query(page.query) if page.query.strip() else None
    with (open_refreshed_others if other else open_refreshed_index)(config) as (store, done):
        page.note_scope(store.db, done, query)
        found, result = scan_with_progress(store.db, wanted, query, page.fit_to_terminal(config))
        page.print_results(found, result)
    return 130 if result.is_interrupted else 0


_BAR_DELAY_SECONDS = 0.4


def scan_with_progress(
    db: apsw.Connection, needle: SearchNeedle, query: SearchQuery | None, wish: SearchOptions
) -> ScanOutcome:
    """Look through the files that the filters of a query name."""
    bar = _ScanBar()
    try:
        return scanned_files(db, IndexSource(data_dir()), ScanRequest(needle, query), wish, bar.show)
    finally:
        bar.clear()


class _ScanBar:
    """How far the scan is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.is_shown = False

    def show(self, done: int, total: int) -> None:
        if sys.stderr is None or not sys.stderr.isatty() or time.monotonic() - self.start < _BAR_DELAY_SECONDS:
            return
        words = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB searched  (Ctrl-C shows what was found)"
        sys.stderr.write(f"\r\x1b[2K{words}")
        sys.stderr.flush()
        self.is_shown = True

    def clear(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
