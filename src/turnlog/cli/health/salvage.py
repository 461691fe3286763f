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
    from turnlog.cli.config import load_config
    from turnlog.cli.health import salvaging
    from turnlog.cli.named import list_config_folders
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if session is None and (output or as_session):
        raise UsageError("name the session that is gone; `turnlog salvage` lists them")
    if sum((bool(output), as_session, as_json)) > 1:
        raise UsageError("give one of -o, --session and --json")
    config = load_config()
    places = list_config_folders(config)
    if session is None:
        found = salvaging.find_all_remains(places)
        if as_json:
            print_json(salvaging.to_salvage_list_document(found))
        else:
            print_lines(salvaging.render_salvage_table(found, detect_screen(config.color)))
        return 0
    remains = salvaging.find_remains(session, places)
    if as_json:
        print_json(salvaging.to_remains_document(remains))
    elif output:
        salvaging.write_remains_markdown(remains, output)
    elif as_session:
        salvaging.write_salvaged_session(remains)
    else:
        print_lines(salvaging.render_remains(remains, detect_screen(config.color)))
    return 0
