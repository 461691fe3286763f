"""`turnlog salvage`: what is left of sessions whose transcript is gone, and what can be made of it."""

from __future__ import annotations

import click


@click.command()
@click.argument("session", metavar="[ID]", required=False)
@click.option("-o", "--output", metavar="FILE", help="Write what is left as Markdown; - for standard output.")
@click.option("--session", "as_session", is_flag=True, help="Write a new session with the prompts that were typed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def salvage(session: str | None, output: str | None, as_session: bool, as_json: bool) -> int:
    """List what is left of sessions whose transcript is gone: prompts, copies of files, sub-agents, outputs.

    The client deletes transcripts after some weeks and keeps other traces. With an ID, the parts of one session are
    shown. If the trash or the archive still has the transcript, that is said: then `turnlog undelete` or `turnlog
    archive restore` brings back all of it. A session made with --session holds the prompts and, in place of each
    answer, a note that it is lost. Nothing is ever overwritten.

    \b
    Examples:
      turnlog salvage
      turnlog salvage 0ddba11e
      turnlog salvage 0ddba11e -o lost.md
      turnlog salvage 0ddba11e --session
    """
    from turnlog.cli.config import load
    from turnlog.cli.health import salvaging
    from turnlog.cli.named import folders
    from turnlog.cli.output import dump, say
    from turnlog.cli.terminal import screen
    from turnlog.errors import UsageError

    if session is None and (output or as_session):
        raise UsageError("name the session that is gone; `turnlog salvage` lists them")
    if sum((bool(output), as_session, as_json)) > 1:
        raise UsageError("give one of -o, --session and --json")
    config = load()
    places = folders(config)
    if session is None:
        found = salvaging.everything(places)
        if as_json:
            dump(salvaging.list_document(found))
        else:
            say(salvaging.table(found, screen(config.color)))
        return 0
    remains = salvaging.remains(session, places)
    if as_json:
        dump(salvaging.document(remains))
    elif output:
        salvaging.write_markdown(remains, output)
    elif as_session:
        salvaging.write_session(remains)
    else:
        say(salvaging.shown(remains, screen(config.color)))
    return 0
