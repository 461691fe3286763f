"""`turnlog move`: a project's folder was renamed, and its sessions go along."""

from __future__ import annotations

import click


@click.command()
@click.argument("old_path")
@click.argument("new_path")
@click.option("--text", is_flag=True, help="Also in what was said: prompts, answers, inputs and results of tools.")
@click.option("--merge", is_flag=True, help="Into a project that has sessions already.")
@click.option("--force", is_flag=True, help="Even if a client may have a session open; never if it surely has.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def move(old_path: str, new_path: str, text: bool, merge: bool, force: bool, dry_run: bool, as_json: bool) -> None:
    """Let the sessions of a project follow when its folder was renamed or moved.

    Everything that the client keeps of OLD_PATH and of folders below it gets the new path: the folders of its
    sessions, working folders and files in each entry, sub-agents, the prompt history, the client's own lists and its
    state. Then `claude --resume` in NEW_PATH finds them. What was said stays as it is, unless --text. The project's
    folder itself is not moved: do that before or afterwards. `turnlog undo` takes everything back.

    \b
    Examples:
      turnlog move ~/code/shop ~/work/webshop --dry-run
      turnlog move ~/code/shop ~/work/webshop
      turnlog move . ../webshop --merge
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.moving import MoveOptions, relocate_sessions

    relocate_sessions(
        old_path,
        new_path,
        MoveOptions(text=text, merge=merge, force=force, dry_run=dry_run, as_json=as_json),
        load_config(),
    )
