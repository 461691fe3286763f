"""`turnlog clone`: a new session from another, as it is or edited on the way."""

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
@click.option("--title", help="The title of the new session; else `Clone of …`.")
@add_strip_options
@click.option(
    "--for-model",
    metavar="MODEL",
    help="Leave out what this model would refuse; other-provider: any that is not Anthropic's.",
)
@click.option("--compress", multiple=True, metavar="TURNS", help="Make texts shorter: turns=A..B, oldest=P%, offline.")
@click.option("--to", "to", metavar="PERCENT", help="How short --compress makes them; 35% if not given.")
@click.option("--prompts", is_flag=True, help="--compress also makes your own prompts shorter.")
@click.option("--compress-log", metavar="FILE", help="Write each text before and after into a Markdown file.")
@click.option(
    "--compact",
    is_flag=False,
    flag_value="model",
    metavar="[offline]",
    help="Put a summary in the place of older turns, as /compact does; goes behind SESSION.",
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="--compact keeps the last N turns; 2 if not given."
)
@click.option("--with-model", metavar="MODEL", help="The model that --compress and --compact ask.")
@click.option("--portable", is_flag=True, help="Write it so that every version of the client resumes all of it.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be made; no model is asked.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def clone(session: str, title: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Make a new session from another: to try another way, or to get context back.

    Everything gets new ids and all that belongs to the session is copied; branches stay branches, and the client
    resumes the clone like any other session. With options it is edited on the way: calls, results, thinking, images and
    noise stripped (docs/strip.md), older turns made shorter or summed up (docs/compress.md). The session itself is not
    changed. SESSION is a path, an id or the start of one, a title, or `last`.

    Only --compress and --compact ask a model, at ANTHROPIC_BASE_URL with ANTHROPIC_API_KEY; with `offline` they
    don't.

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
        raise UsageError("--with-model belongs to --compress and --compact")
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
        progress=show_progress("shortening texts: {done:,} of {total:,} …"),
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
        raise UsageError("--to, --prompts and --compress-log belong to --compress")
    return None


def _parse_compact_options(options: dict[str, Any]) -> CompactOptions | None:
    from turnlog.api.clones import CompactOptions

    if (how := options["compact"]) is not None:
        if how not in ("model", "offline"):
            raise UsageError(f"--compact {how}: it is --compact, or --compact offline")
        return CompactOptions(how == "offline", options["keep"], options["with_model"])
    if options["keep"] is not None:
        raise UsageError("--keep belongs to --compact; `--tools keep=N` keeps calls")
    return None
