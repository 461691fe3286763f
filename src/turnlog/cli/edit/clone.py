"""`turnlog clone`: a new session from another, as it stands or edited on the way."""

from __future__ import annotations

from typing import Any

import click

from turnlog.cli.edit.strip_options import add_strip_options


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
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.cloning import run_clone

    run_clone(session, load_config(), title=title, dry_run=dry_run, as_json=as_json, options=options)
