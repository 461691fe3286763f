"""`turnlog doctor`: what ails a session, in the words of whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnlog.api.config import Config
    from turnlog.cli.health.diagnoses import DoctorReport, ExaminedSession

_MIN_ID_CHARS = 4
"""So many letters of an id are enough to mean a session that is gone."""


@click.command()
@click.argument("session", required=False)
@click.option("--all", "everyone", is_flag=True, help="All sessions of this machine; so without SESSION.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def doctor(session: str | None, everyone: bool, as_json: bool) -> int:
    """Say what ails a session: what you would notice, what the case is, where it comes from, and the remedy.

    Looks for every illness of the catalogue in docs/doctor.md: damaged lines, lost links, a resume that shows only a
    part, what the API refuses, bloat, and why the client's list does not have a session. Nothing is changed; `turnlog
    repair` does that. Over all sessions, each sick one has a line. The exit status is 1 if there is an error.
    SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog doctor last
      turnlog doctor bee7dbd3 --json
      turnlog doctor --all
    """
    from turnlog.api.config import load_config
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if everyone and session is not None:
        raise UsageError("name a session, or say --all: not both")
    config = load_config()
    ward = _examine_all(config) if session is None else _examine_one(session, config)
    if as_json:
        print_json(ward.to_document())
    else:
        print_lines(ward.render_lines(detect_screen(config.color), alone=session is not None))
    return 1 if ward.count_symptoms("error") else 0


def _examine_one(name: str, config: Config) -> DoctorReport:
    """The session that a name means, be it one whose transcript is gone."""
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.health.diagnoses import DoctorReport, examine_leftover, examine_session_file
    from turnlog.cli.named_sessions import locate_named_session
    from turnlog.edit.illnesses.lost_transcripts import list_leftovers
    from turnlog.errors import NotFound

    try:
        return DoctorReport([examine_session_file(locate_named_session(name, config))], [])
    except NotFound:
        gone = [item for folder in list_config_folders(config) for item in list_leftovers(folder)]
        meant = [item for item in gone if len(name) >= _MIN_ID_CHARS and item.session_id.startswith(name.lower())]
        if len(meant) != 1:
            raise
        return DoctorReport([examine_leftover(meant[0])], [])


def _examine_all(config: Config) -> DoctorReport:
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.health.diagnoses import DoctorReport, find_machine_symptoms
    from turnlog.cli.output import mention_unlisted, print_remark
    from turnlog.entries.peek import peek_files
    from turnlog.session.session_lookup import list_sessions_or_demo

    places = list_config_folders(config)
    files, is_demo, survey = list_sessions_or_demo(places)
    mention_unlisted(survey.unlisted)
    if is_demo:
        print_remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    ends = peek_files([item.file for item in files])
    talking = [item.path for item, end in zip(files, ends, strict=True) if end.junk in (None, "unreadable")]
    return DoctorReport(list(_examine_with_progress(talking)), find_machine_symptoms(places), len(files) - len(talking))


def _examine_with_progress(paths: list[Path]) -> Iterator[ExaminedSession]:
    """Examine sessions, telling whoever watches how far it is."""
    import sys

    from turnlog.cli.health.diagnoses import examine_session_file

    watched = sys.stderr is not None and sys.stderr.isatty()
    for number, path in enumerate(paths, 1):
        if watched:
            sys.stderr.write(f"\rlooking at {number} of {len(paths)} …")
            sys.stderr.flush()
        yield examine_session_file(path)
    if watched:
        sys.stderr.write("\r\x1b[K")
