"""`turnlog messages`: what the API would be sent if a session were resumed."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("--leaf", metavar="UUID", help="Resume this entry instead of the one that the client would take.")
@click.option("--as-sent", is_flag=True, help="Add what the client itself would add.")
@click.option("--json", "as_json", is_flag=True, help="Print Messages API JSON (docs/json.md).")
def messages(session: str, leaf: str | None, as_sent: bool, as_json: bool) -> None:
    """Print what the API would be sent if a session were resumed now.

    The messages come from the file alone, put together by the rules of the newest client. A session that the
    client would not resume ends with status 1 and the reason. SESSION is a path, an id or the start of one, a
    title, or `last`.

    \b
    Examples:
      turnlog messages last
      turnlog messages last --json > body.json
      turnlog messages last --leaf 8a1f0c9e-93ba-4b2d-9f0d-1c6a1e0d2f11 --json
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.named import open_named_session
    from turnlog.cli.output import print_json_list, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import Refused

    config = load_config()
    with open_named_session(session, config) as found:
        try:
            sent = found.conversation(leaf, as_sent=as_sent).messages
        except Refused as reason:
            raise Refused(f"{found.path}: {reason}") from None
        if as_json:
            print_json_list("messages", sent)
        else:
            from turnlog.cli.show.transcript import render_api_messages

            print_lines(render_api_messages(sent, detect_screen(config.color)))
