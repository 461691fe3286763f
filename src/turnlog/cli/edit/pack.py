"""`turnlog pack`: sessions into one file."""

from __future__ import annotations

import click


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The package to write, such as shop.tar.zst.")
@click.option("--redact", is_flag=True, help="Replace API keys, tokens and passwords by marks.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def pack(sessions: tuple[str, ...], output: str, redact: bool, force: bool, as_json: bool) -> None:
    """Pack sessions with everything that belongs to them into one file.

    `turnlog unpack` puts them into their places on another machine, in another folder, where the client resumes them.
    The file is a tar archive compressed with zstd, with the SHA-256 of every file in its manifest. Sessions may be
    packed while they are open: the transcript is then packed up to its last whole line. SESSION is a path, an id or the
    start of one, a title, or `last`.

    \b
    Examples:
      turnlog pack last -o shop.tar.zst
      turnlog pack bee7dbd3 0ddba11e -o both.tar.zst --redact
    """
    from turnlog.api.config import load_config
    from turnlog.cli.edit.package_commands import run_pack

    run_pack(sessions, output, load_config(), redact=redact, force=force, as_json=as_json)
