"""`turnlog completion`: print a script that lets a shell complete commands, options and sessions."""

from __future__ import annotations

import click

from turnlog.cli.table import COMPLETION_VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that enables your shell to complete turnlog's commands, options and sessions.

    Where a command expects a session, Tab suggests the newest sessions; type a few letters of an id or a title to
    narrow down the list. zsh and fish show the titles next to the ids.

    \b
    Examples:
      turnlog completion bash > ~/.local/share/bash-completion/completions/turnlog
      turnlog completion zsh > "${fpath[1]}/_turnlog"
      turnlog completion fish > ~/.config/fish/completions/turnlog.fish
      source <(turnlog completion bash)       for this shell only
    """
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None
    program = click.get_current_context().find_root().command
    source = maker(program, {}, "turnlog", COMPLETION_VARIABLE)
    # Not `source()`: for bash, it starts a shell to check its version, and writes to standard error.
    click.echo(source.source_template % source.source_vars())
