"""`turnlog clone`: create a copy of a session, unchanged or edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnlog.cli.edit.strip_options import add_strip_options, parse_strip_options
from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.clones import CompactOptions, CompressOptions


@click.command()
@click.argument("session")
@click.option("--title", help="Title of the clone (default: `Clone of …`).")
@add_strip_options
@click.option(
    "--for-model",
    metavar="MODEL",
    help="Remove content that MODEL would refuse; `other-provider` stands for any model not made by Anthropic.",
)
@click.option(
    "--compress",
    multiple=True,
    metavar="TURNS",
    help="Shorten older turns: turns=A..B or oldest=P%; add `offline` to work without a model.",
)
@click.option("--to", "to", metavar="PERCENT", help="Share of the text that --compress keeps (default: 35%).")
@click.option("--prompts", is_flag=True, help="With --compress, also shorten your own prompts.")
@click.option("--compress-log", metavar="FILE", help="Write the text before and after compression to a Markdown file.")
@click.option(
    "--compact",
    is_flag=False,
    flag_value="model",
    metavar="[offline]",
    help="Replace older turns with a summary, as /compact does. Put this option after SESSION.",
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="Number of recent turns that --compact keeps (default: 2)."
)
@click.option("--with-model", metavar="MODEL", help="Model to use for --compress and --compact.")
@click.option(
    "--portable", is_flag=True, help="Write the clone in a form that every version of Claude Code can fully resume."
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Show what would be created, without creating it or calling a model."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def clone(session: str, title: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Create a copy of a session to try a different approach or to free context.

    The clone gets new ids, keeps all branches, and includes copies of all files that belong to the session. Claude Code
    can resume it like any other session. Use the options to strip calls, results, thinking, images and noise from the
    clone (see docs/strip.md), or to shorten or summarise older turns (see docs/compress.md). The original session is
    not changed. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    Only --compress and --compact call a model, and only without `offline`. They use ANTHROPIC_BASE_URL and
    ANTHROPIC_API_KEY.

    \b
    Examples:
      turnlog clone last
      turnlog clone last --preset standard
      turnlog clone last --tools keep=5 --thinking remove --dry-run
      turnlog clone bee7dbd3 --compress oldest=50% --to 35% --compress-log before-and-after.md
      turnlog clone bee7dbd3 --compact offline --keep 3
    """
    from turnlog.api.clones import clone_session
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.sentences import describe_clone, list_copy_remarks
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    config = load_config()
    compress, compact = _parse_compress_options(options), _parse_compact_options(options)
    if options["with_model"] and not compress and not compact:
        raise UsageError("--with-model requires --compress or --compact")
    result = clone_session(
        session,
        title=title,
        strip=parse_strip_options(config, options),
        for_model=options["for_model"],
        compress=compress,
        compact=compact,
        portable=options["portable"],
        dry_run=dry_run,
        config=config,
        notify=print_remark,
        progress=show_progress("shortening text: {done:,} of {total:,} …"),
    )
    if as_json:
        print_json(to_document(result))
        return
    for text in list_copy_remarks(result.made):
        print_remark(text)
    print_lines(describe_clone(result))


def _parse_compress_options(options: dict[str, Any]) -> CompressOptions | None:
    from turnlog.api.clones import DEFAULT_COMPRESS_SHARE, CompressOptions

    if options["compress"]:
        log = options["compress_log"]
        return CompressOptions(
            options["compress"],
            options["to"] or DEFAULT_COMPRESS_SHARE,
            options["prompts"],
            options["with_model"],
            None if log is None else Path(log),
        )
    if options["to"] or options["prompts"] or options["compress_log"]:
        raise UsageError("--to, --prompts and --compress-log require --compress")
    return None


def _parse_compact_options(options: dict[str, Any]) -> CompactOptions | None:
    from turnlog.api.clones import CompactOptions

    if (mode := options["compact"]) is not None:
        if mode not in ("model", "offline"):
            raise UsageError(f"--compact {mode}: use --compact or --compact offline")
        return CompactOptions(mode == "offline", options["keep"], options["with_model"])
    if options["keep"] is not None:
        raise UsageError("--keep requires --compact; to keep calls, use `--tools keep=N`")
    return None
