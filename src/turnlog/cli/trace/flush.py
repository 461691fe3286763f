"""`turnlog trace flush`: send now what waits in the outbox."""

from __future__ import annotations

import click


@click.command()
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Only to this target; may be repeated.")
@click.option("--quarantined", is_flag=True, help="Also what the server refused before.")
@click.option("--wait", metavar="SECONDS", type=click.FloatRange(0, 86_400), default=10, show_default=True,
              help="Keep trying for so long if the server does not take it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def flush(names: tuple[str, ...], quarantined: bool, wait: float, as_json: bool) -> int:
    """Send now what waits in the outbox.

    A server that failed is asked at once, whenever it would have been asked again. The exit status is 1 if something
    could not be sent; it stays in the outbox.

    \b
    Examples:
      turnlog trace flush
      turnlog trace flush --target phoenix --wait 60
      turnlog trace flush --quarantined      when the target's settings were wrong
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.trace.flushing import flush_targets, is_flush_failed, render_flush_results, to_flush_document

    done = flush_targets(load_config(), names, wait, quarantined=quarantined)
    if as_json:
        print_json(to_flush_document(done))
    else:
        print_lines(render_flush_results(done))
    return 1 if is_flush_failed(done) else 0
