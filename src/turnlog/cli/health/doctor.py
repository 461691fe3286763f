"""`turnlog doctor`: explain what is wrong with a session."""

from __future__ import annotations

import click


@click.command()
@click.argument("session", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="Examine all sessions on this machine (default if SESSION is omitted)."
)
@click.option("--fresh", is_flag=True, help="Also examine sessions that are known to be healthy and have not changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def doctor(session: str | None, everything: bool, fresh: bool, as_json: bool) -> int:
    """Explain what is wrong with a session: the symptoms, the problem, the cause, and the fix.

    This command looks for every problem described in docs/doctor.md, including damaged lines, lost links, sessions that
    can be resumed only in part, content that the API refuses, bloat, and sessions that are missing from Claude Code's
    list. It doesn't change anything; to fix the problems, use `turnlog repair`. With --all, the output has one line for
    each session that has a problem; sessions that were healthy before are read again only if they, or the rules, have
    changed. The exit status is 1 if there is an error. SESSION is a path, an id, an id prefix,
    a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog doctor last
      turnlog doctor bee7dbd3 --json
      turnlog doctor --all
    """
    from turnlog.api.config import load_config
    from turnlog.api.diagnoses import diagnose_machine, diagnose_session
    from turnlog.api.documents import to_document
    from turnlog.cli.health.diagnoses import render_diagnosis_report
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if everything and session is not None:
        raise UsageError("use either SESSION or --all")
    if fresh and session is not None:
        raise UsageError("--fresh applies to all sessions; a single session is always examined")
    config = load_config()
    if session is not None:
        report = diagnose_session(session, config=config, notify=print_remark)
    else:
        progress = show_progress("examined {done:,} of {total:,} …")
        report = diagnose_machine(fresh=fresh, config=config, notify=print_remark, progress=progress)
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(render_diagnosis_report(report, detect_screen(config.color), alone=session is not None))
    return 1 if report.summary.errors else 0
