"""`turnlog redact`: find secrets in a session and create a copy without them."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


@click.command()
@click.argument("session")
@click.option("--clone", "as_clone", is_flag=True, help="Create a new session without the secrets.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the transcript without the secrets to FILE (- for standard output)."
)
@click.option("--emails", is_flag=True, help="Also find email addresses.")
@click.option("--homes", is_flag=True, help="Also find user names in the paths of home folders.")
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="NAME=REGEX",
    help="Also find text that matches a regular expression (repeatable).",
)
@click.option("--without", "without", multiple=True, metavar="RULE", help="Skip this rule (repeatable).")
@click.option("--title", help="Title of the clone (default: `Clone of …`).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
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
    """Find API keys, tokens, passwords and private keys in a session, and create a copy without them.

    turnlog searches every string in every entry, and every file that belongs to the session: sub-agents, large outputs
    and file copies. Every occurrence of a secret is replaced with the same placeholder, such as [secret:github:1].
    Without --clone or -o, nothing is written: the output lists the rules that matched, how often and where, but never
    the secrets themselves, and the exit status is 1 if a secret was found. The original session is not changed; to
    remove it, use `turnlog delete`. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent
    session).

    \b
    Examples:
      turnlog redact last
      turnlog redact last --clone --emails --homes
      turnlog redact bee7dbd3 -o shared.jsonl --pattern 'ticket=ACME-[0-9]+'
    """
    from turnlog.api.documents import to_document
    from turnlog.api.redaction import redact_session
    from turnlog.api.sentences import describe_copy, describe_redaction, list_copy_remarks
    from turnlog.cli.output import StandardOutput, print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress
    from turnlog.cli.terminal import to_visible_line

    if as_clone and output is not None:
        raise UsageError("use either --clone, which creates a session, or -o, which writes a file")
    if title is not None and not as_clone:
        raise UsageError("--title requires --clone")
    result = redact_session(
        session,
        clone=as_clone,
        output=StandardOutput() if output == "-" else output,
        emails=emails,
        homes=homes,
        patterns=patterns,
        without=without,
        title=title,
        notify=print_remark,
        progress=show_progress("searched {done:,} of {total:,} lines (in two passes) …"),
    )
    if output == "-":
        for text in describe_redaction(result):
            print_remark(text)
    elif as_json:
        print_json(to_document(result))
    else:
        print_lines(describe_redaction(result))
        for text in list_copy_remarks(result.made):
            print_remark(text)
        if result.made is not None:
            print_lines(describe_copy(result.made))
        elif output is not None:
            print_lines([to_visible_line(f"Wrote {output}.")])
    return 1 if result.found and not result.is_written else 0
