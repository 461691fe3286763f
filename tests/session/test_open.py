"""Opening sessions by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.session.build import DATA, SESSION, base, find_recording
from turnlog.demo import config_dir
from turnlog.errors import NotFound
from turnlog.session.open import sessions


def project(folder: Path) -> Path:
    made = folder / "projects" / "-home-dana-webshop"
    made.mkdir(parents=True)
    base().write(made)
    return folder


def test_a_session_is_opened_by_path() -> None:
    path = find_recording("2.1.325/plain")
    for name in (path, str(path)):
        with turnlog.open(name) as session:
            assert session.session_id == path.stem


@pytest.mark.parametrize("name", [SESSION, SESSION[:8], "last"])
def test_a_session_is_opened_by_what_a_person_calls_it(tmp_path: Path, name: str) -> None:
    with turnlog.open(name, [project(tmp_path)]) as session:
        assert session.session_id == SESSION


def test_without_folders_the_machines_own_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(project(tmp_path)))
    with turnlog.open(SESSION) as session:
        assert session.session_id == SESSION
    assert [item.session_id for item in sessions()] == [SESSION]


def test_a_name_that_fits_nothing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        turnlog.open("nobody", [project(tmp_path)])


def test_the_sessions_of_given_folders_are_listed() -> None:
    found = {item.session_id for item in turnlog.sessions([config_dir(), DATA / "sessions" / "2.1.325" / "plain"])}
    assert find_recording("2.1.325/plain").stem in found
    assert len(found) > 5
