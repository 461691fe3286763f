"""`turnlog doctor`: what ails a session, in the words of whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnlog.cli.config import Config
    from turnlog.cli.health.diagnoses import Patient, Ward

_ENOUGH = 4
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
    from turnlog.cli.config import load
    from turnlog.cli.output import dump, say
    from turnlog.cli.terminal import screen
    from turnlog.errors import UsageError

    if everyone and session is not None:
        raise UsageError("name a session, or say --all: not both")
    config = load()
    ward = _all(config) if session is None else _one(session, config)
    if as_json:
        dump(ward.document())
    else:
        say(ward.lines(screen(config.color), alone=session is not None))
    return 1 if ward.count("error") else 0


def _one(name: str, config: Config) -> Ward:
    """The session that a name means, be it one whose transcript is gone."""
    from turnlog.cli.health.diagnoses import Ward, departed, visit
    from turnlog.cli.named import folders, located
    from turnlog.errors import NotFound
    from turnlog.session.health.leftovers import leftovers

    try:
        return Ward([visit(located(name, config))], [])
    except NotFound:
        gone = [item for folder in folders(config) for item in leftovers(folder)]
        meant = [item for item in gone if len(name) >= _ENOUGH and item.session_id.startswith(name.lower())]
        if len(meant) != 1:
            raise
        return Ward([departed(meant[0])], [])


def _all(config: Config) -> Ward:
    from turnlog.cli.health.diagnoses import Ward, machine
    from turnlog.cli.named import folders
    from turnlog.cli.output import mention_unlisted, remark
    from turnlog.entries.peeks import look_all
    from turnlog.session.find import listing

    places = folders(config)
    files, is_demo, survey = listing(places)
    mention_unlisted(survey.unlisted)
    if is_demo:
        remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    ends = look_all([item.file for item in files])
    talking = [item.path for item, end in zip(files, ends, strict=True) if end.junk in (None, "unreadable")]
    return Ward(list(_visited(talking)), machine(places), len(files) - len(talking))


def _visited(paths: list[Path]) -> Iterator[Patient]:
    """Examine sessions, telling whoever watches how far it is."""
    import sys

    from turnlog.cli.health.diagnoses import visit

    watched = sys.stderr is not None and sys.stderr.isatty()
    for number, path in enumerate(paths, 1):
        if watched:
            sys.stderr.write(f"\rlooking at {number} of {len(paths)} …")
            sys.stderr.flush()
        yield visit(path)
    if watched:
        sys.stderr.write("\r\x1b[K")
