"""`turnlog strip`: show what stripping a session would save, without writing anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from turnlog.cli.edit.strip_options import add_strip_options, parse_strip_options
from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.strip import StripPreview


@click.command()
@click.argument("session")
@add_strip_options
@click.option(
    "--fit",
    metavar="SIZE",
    help="Choose the mildest options that shrink the session to SIZE: 60% (of the window) or 120k (tokens).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def strip(session: str, fit: str | None, as_json: bool, **options: Any) -> None:
    """Show what stripping a session would save.

    Nothing is written; to create the stripped session, run `turnlog clone` with the same options. The default preset is
    `standard`. A call and its result are always removed together. Text that you or the model wrote is never changed.
    SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog strip last
      turnlog strip last --fit 60%            print the command that creates the clone
      turnlog strip last --preset heavy --protect Bash
      turnlog strip last --tools keep=5 --thinking keep-last=2 --images keep=3
      turnlog strip last --tools 'truncate=500:Bash,mcp__*' --noise --json
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.sentences import describe_savings
    from turnlog.api.strip import strip_session
    from turnlog.cli.output import print_json, print_lines, print_remark, spell_flags
    from turnlog.cli.terminal import to_visible_line

    config = load_config()
    chosen = parse_strip_options(config, options)
    if fit is not None and chosen is not None:
        raise UsageError("--fit chooses the options automatically; it can be combined only with --protect")
    with spell_flags("fit"):
        preview = strip_session(
            session, chosen, fit=fit, protect=options["protect"], config=config, notify=print_remark
        )
    if as_json:
        print_json(to_document(preview))
        return
    if preview.preset and fit is None:
        print_lines([to_visible_line(f"Preset {preview.preset}.")])
    print_lines(describe_savings(preview))
    if preview.rules:
        has_options = chosen is not None
        print_lines(_describe_next_step(session, preview, options["protect"], has_options=has_options))


def _describe_next_step(
    name: str, preview: StripPreview, protect: Sequence[str], *, has_options: bool
) -> Iterator[str]:
    from turnlog.api.strip import DEFAULT_PRESET, choose_pasteable_name
    from turnlog.cli.terminal import to_visible_line

    if preview.fit:
        yield f"Fits {preview.fit.target:,} tokens with these options. Nothing was written. To create the session, run:"
        yield to_visible_line(f"  {preview.fit.command}")
    elif has_options:
        yield "Nothing was written. `turnlog clone SESSION` with the same options creates the stripped session."
    else:
        words = ["turnlog", "clone", choose_pasteable_name(name, preview.session), "--preset", DEFAULT_PRESET]
        command = shlex.join([*words, *(word for tool in protect for word in ("--protect", tool))])
        yield to_visible_line(f"Nothing was written. `{command}` creates the stripped session.")
