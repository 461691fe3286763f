"""`turnlog check`: what is broken, unusual or new in session files."""

from __future__ import annotations

import click


@click.command()
@click.argument("names", metavar="SESSION|FILE|DIR...", nargs=-1, required=True)
@click.option("--requests", is_flag=True, help="Prove our messages by the requests that the file records.")
@click.option("--resumable", is_flag=True, help="Judge whether the client and the API would go on with it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def check(names: tuple[str, ...], requests: bool, resumable: bool, as_json: bool) -> int:
    """Say what is broken, unusual or new in session files.

    Errors are what the client or turnlog can't read or resume; warnings what looks damaged; notes what is good
    to know. Types and fields that this version has not heard of are listed as news of the format. In a folder,
    all .jsonl files below it are checked, sub-agents too. The exit status is 1 if there is any error.

    With --resumable, what would be resumed is judged by the rules of the client and of the Messages API: links,
    calls with their results, thinking, images, and what older clients would lose. `turnlog doctor` explains the same
    in other words, with remedies.

    \b
    Examples:
      turnlog check last
      turnlog check ~/.claude/projects
      turnlog check last --requests
      turnlog check last --resumable
      turnlog check damaged.jsonl --json
    """
    from turnlog.api.checks import check_session
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.cli.health.findings import render_check_report
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    report = check_session(
        *names,
        requests=requests,
        resumable=resumable,
        config=config,
        notify=print_remark,
        progress=show_progress("checked {done:,} of {total:,} …"),
    )
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(render_check_report(report, detect_screen(config.color), requests))
    return 0 if report.is_sound else 1
