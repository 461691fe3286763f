"""`turnlog web`: the sessions of this machine in a browser."""

from __future__ import annotations

import click


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0: any free one.  [4747]")
@click.option(
    "--open/--no-open", "opens", default=None, help="Open a browser or not; without either, only on a terminal."
)
def web(port: int | None, opens: bool | None) -> None:
    """Show the sessions of this machine in a browser: read, search, count, follow, edit and export them.

    The server answers this machine alone (127.0.0.1), and of its browsers only the one that opens the printed
    address: the address works once, and that browser is remembered. Ctrl-C stops the server. Without --port it
    listens on 4747, or on any free port if that is taken. On a machine without sessions, the pages show the demo.

    \b
    Examples:
      turnlog web
      turnlog web --port 8080 --no-open
    """
    from turnlog.cli.web.serving import run_web

    run_web(port, opens)
