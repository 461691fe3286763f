"""All surfaces say the same of a session: commands, exports and pages."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.surfaces.compare import Surfaces, read_commands, read_session, read_web
from tests.surfaces.machines import copy_recorded, link_published
from turnlog.cli.program import run_program
from turnlog.session.foreign_files import explain_foreign_file
from turnlog.session.session import Session

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture
def read_surfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Surfaces]:
    """Read all surfaces of the sessions in `tmp_path/claude`."""
    config, data = tmp_path / "claude", tmp_path / "turnlog"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    monkeypatch.setenv("TURNLOG_HOME", str(data))

    def read() -> Surfaces:
        found = Surfaces()
        read_commands(found, _run_and_print)
        for path in list(found.facts):
            read_session(found, _run_and_print, path)
        read_web(found, config, data)
        return found

    return read


def _run_and_print(*words: str) -> str:
    """Run `turnlog` in this process, and give what it printed."""
    before, raw = sys.stdout, io.BytesIO()
    stream = sys.stdout = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    try:
        status = run_program(list(words))
    finally:
        sys.stdout = before
    assert status == 0, words
    stream.flush()
    return raw.getvalue().decode()


def test_recorded_sessions_are_the_same_on_every_surface(tmp_path: Path, read_surfaces: Callable[[], Surfaces]) -> None:
    copy_recorded(tmp_path / "claude", (DATA / "sessions").glob("*/*"))
    assert list(read_surfaces().disagreements()) == []


@pytest.mark.corpus
def test_published_sessions_are_the_same_on_every_surface(
    tmp_path: Path, corpus: Path, read_surfaces: Callable[[], Surfaces]
) -> None:
    link_published(tmp_path / "claude", corpus / "wild")
    for path in (tmp_path / "claude" / "projects").glob("*/*.jsonl"):
        if explain_foreign_file(Session.from_bytes(path.read_bytes()).file) is not None:
            path.unlink()  # other programs' sessions, which commands refuse
    copy_recorded(tmp_path / "claude", (corpus / "lab").glob("*/*"))
    found = list(read_surfaces().disagreements())
    assert found == [], f"{len(found)} disagreements"
