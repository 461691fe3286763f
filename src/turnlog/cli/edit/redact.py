"""`turnlog redact`: find secrets in a session, and make a copy without them."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("--clone", "as_clone", is_flag=True, help="Make a new session without the secrets.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the transcript without them to a file; - is standard output."
)
@click.option("--emails", is_flag=True, help="Also e-mail addresses.")
@click.option("--homes", is_flag=True, help="Also user names in paths of home folders.")
@click.option(
    "--pattern", "patterns", multiple=True, metavar="NAME=REGEX", help="Also what this finds; may be repeated."
)
@click.option("--without", "without", multiple=True, metavar="RULE", help="Leave a rule out; may be repeated.")
@click.option("--title", help="With --clone: the title of the new session; else `Clone of …`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def redact(
    session: str,
    as_clone: bool,
    output: str | None,
    emails: bool,
    homes: bool,
    patterns: tuple[str, ...],
    without: tuple[str, ...],
    title: str | None,
    as_json: bool,
) -> int:
    """Find API keys, tokens, passwords and private keys in a session, and make a copy without them.

    Every string of every entry is looked at, and every file that belongs to the session: sub-agents, large outputs,
    copies of files. A secret is replaced by a mark such as [secret:github:1], the same one everywhere. Without --clone
    or -o nothing is written, and you are told what there is: rules, counts and places, never the secret. The session
    itself is not changed: `turnlog delete` removes it. Exit status 1 if anything was found and nothing written.
    SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog redact last
      turnlog redact last --clone --emails --homes
      turnlog redact bee7dbd3 -o shared.jsonl --pattern 'ticket=ACME-[0-9]+'
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.redacting import RedactOptions, run_redact
    from turnlog.errors import UsageError

    if as_clone and output is not None:
        raise UsageError("choose one: --clone makes a session, -o writes a file")
    if title is not None and not as_clone:
        raise UsageError("--title belongs to --clone")
    wish = RedactOptions(as_clone, output, emails, homes, patterns, without, title, as_json)
    return run_redact(session, wish, load_config())
