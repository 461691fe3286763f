"""Builds lakes and erases people from them: the functions behind `turnlog fleet build` and `turnlog fleet forget`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.api.config import data_dir
from turnlog.errors import UsageError
from turnlog.fleet.people import PersonRules, is_pseudonym, load_key, load_people

if TYPE_CHECKING:
    from turnlog.fleet.build import BuildProgress, LakeBuild
    from turnlog.fleet.forget import ForgottenPerson

KEY_FILE_NAME = "fleet.key"


def build_lake(
    source: str | Path,
    lake: str | Path,
    *,
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
    layout: str | None = None,
    people: str | Path | None = None,
    person: str | None = None,
    team: str | None = None,
    key: str | Path | None = None,
    redact: bool = True,
    text: bool = True,
    again: bool = False,
    split_bytes: int | None = None,
    progress: BuildProgress | None = None,
) -> LakeBuild:
    """Bring a lake up to date with all sessions below a source; both are paths or URLs (docs/fleet.md).

    `layout` (such as `{team}/{person}`) says what the folders below the source mean, and `people` is a `people.toml`.
    `redact` replaces secrets, email addresses and names in home folders; without `text`, the lake has no texts at all.
    """
    from turnlog.fleet.build import BuildRequest, run_build
    from turnlog.fleet.engines import open_engine
    from turnlog.fleet.settings import SPLIT_BYTES, BuildSettings
    from turnlog.store.lake.lake_files import normalize_location

    if layout and person:
        raise UsageError("use only one of layout and person")
    chosen_engine = open_engine(engine, workers, scheduler)
    known = load_people(Path(people)) if people else None
    secret_key = load_key(Path(key) if key else None, data_dir() / KEY_FILE_NAME, create=key is None)
    settings = BuildSettings(
        normalize_location(str(source)),
        normalize_location(str(lake)),
        redact,
        text,
        split_bytes=split_bytes or SPLIT_BYTES,
    )
    rules = PersonRules(secret_key, layout, known, person, team)
    with chosen_engine as opened:
        return run_build(BuildRequest(settings, secret_key, rules, again), opened, progress)


def forget_person(
    lake: str | Path,
    person: str,
    *,
    people: str | Path | None = None,
    key: str | Path | None = None,
) -> ForgottenPerson:
    """Erase a person, by name or pseudonym, from a lake and its history; later builds skip the person's files."""
    from turnlog.fleet.engines import LocalEngine
    from turnlog.fleet.forget import erase_person

    pseudonym = person
    if not is_pseudonym(person):
        secret_key = load_key(Path(key) if key else None, data_dir() / KEY_FILE_NAME, create=False)
        known = load_people(Path(people)) if people else None
        pseudonym = PersonRules(secret_key, people=known).name_person(person)
    with LocalEngine(1) as engine:
        return erase_person(str(lake), pseudonym, engine)
