"""`turnlog redact`: find secrets in a session and create a copy without them."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


@click.command()
@click.argument("session", required=False)
@click.option(
    "--all",
    "all_stores",
    is_flag=True,
    help="Search every store: projects, prompt history, file copies, archive, index, outbox, trash …",
)
@click.option(
    "--in-place", is_flag=True, help="With --all: replace the secrets in the stores; `turnlog undo` reverses this."
)
@click.option("--force", is_flag=True, help="With --in-place: ignore uncertain signs that a session is open.")
@click.option("--clone", "as_clone", is_flag=True, help="Create a new session without the secrets.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the transcript without the secrets to FILE (- for standard output); with --all, copies of the stores to"
    " a new folder.",
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
    session: str | None,
    all_stores: bool,
    in_place: bool,
    force: bool,
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

    With --all, turnlog searches everything that Claude Code and turnlog keep, not only one session. Without -o and
    --in-place, it lists what it found; -o FOLDER writes copies of the stores, and --in-place changes the stores
    themselves, all or none, unless another process is using one of them. The originals are kept until `turnlog undo
    --prune`.

    \b
    Examples:
      turnlog redact last
      turnlog redact last --clone --emails --homes
      turnlog redact bee7dbd3 -o shared.jsonl --pattern 'ticket=ACME-[0-9]+'
      turnlog redact --all --in-place
    """
    from turnlog.api.documents import to_document
    from turnlog.api.redaction import redact_session
    from turnlog.api.sentences import describe_copy, describe_redaction, list_copy_remarks
    from turnlog.cli.output import StandardOutput, print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress
    from turnlog.cli.terminal import to_visible_line

    if all_stores:
        _refuse_session_options(session, as_clone, title, output, in_place)
        return _redact_all(
            output, in_place, force, emails=emails, homes=homes, patterns=patterns, without=without, as_json=as_json
        )
    if in_place or force:
        raise UsageError("--in-place and --force require --all; to change one session, use --clone")
    if session is None:
        raise UsageError("name a session, or use --all")
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


def _refuse_session_options(
    session: str | None, as_clone: bool, title: str | None, output: str | None, in_place: bool
) -> None:
    if session is not None:
        raise UsageError("use either a session or --all")
    if as_clone or title is not None:
        raise UsageError("--clone and --title apply to one session; with --all, use -o FOLDER or --in-place")
    if output == "-":
        raise UsageError("with --all, -o takes a folder")
    if output is not None and in_place:
        raise UsageError("use either -o, which writes copies, or --in-place, which changes the stores")


def _redact_all(
    output: str | None,
    in_place: bool,
    force: bool,
    *,
    emails: bool,
    homes: bool,
    patterns: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
) -> int:
    from turnlog.api.documents import to_document
    from turnlog.api.sentences import describe_store_redaction
    from turnlog.api.store_redaction import redact_stores
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.progress import show_progress

    result = redact_stores(
        output=output,
        in_place=in_place,
        emails=emails,
        homes=homes,
        patterns=patterns,
        without=without,
        force=force,
        progress=show_progress("searched {done:,} of {total:,} files (in two passes) …"),
    )
    if as_json:
        print_json(to_document(result))
    else:
        print_lines(describe_store_redaction(result))
    return 1 if result.found and not result.is_written else 0
