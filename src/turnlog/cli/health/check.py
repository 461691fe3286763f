"""`turnlog check`: list what is damaged, unusual or new in session files."""

from __future__ import annotations

import click


@click.command()
@click.argument("names", metavar="SESSION|FILE|DIR...", nargs=-1, required=True)
@click.option("--requests", is_flag=True, help="Compare the rebuilt messages with the requests recorded in the file.")
@click.option(
    "--resumable",
    is_flag=True,
    help="Check whether Claude Code and the API would accept the session if it were resumed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def check(names: tuple[str, ...], requests: bool, resumable: bool, as_json: bool) -> int:
    """List what is damaged, unusual or new in session files.

    An error is something that Claude Code or turnlog can't read or resume, a warning is something that looks damaged,
    and a note is for your information. Types and fields that this version of turnlog doesn't recognise are listed as
    new in the format. If you name a folder, all .jsonl files in it and its subfolders are checked, including
    sub-agents. The exit status is 1 if there is an error.

    --resumable checks whether the conversation follows the rules of Claude Code and the Messages API for links, calls
    and their results, thinking, and images. It also reports what older versions of Claude Code would lose. `turnlog
    doctor` explains the same problems and how to fix them.

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
