"""On a terminal every table fits its width; what there is no room for is named, and a pipe gets everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Turnlog
from tests.surfaces.machines import copy_recorded
from turnlog.cli.rows import COLUMN_GAP_CELLS, fit_columns, render_table_rows, render_titled_rows
from turnlog.cli.terminal import TerminalScreen, measure_width

DATA = Path(__file__).parent.parent / "data"
RUNS = ("2.1.325/agents", "2.1.325/resume", "2.1.325/tools", "2.1.325/tui_more", "2.0.76/errors", "1.0.128/agents")
COMMANDS = (
    "ls",
    "tree",
    *(f"usage {kind}" for kind in ("daily", "session", "project", "model", "tool", "blocks")),
    "tools",
    "tools {id}",
    "files {id}",
    "search total",
    "archive list",
    "trace status",
    "index",
    "doctor",
    "salvage",
    "undelete --list",
    "undo --list",
)


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turnlog: Turnlog) -> Path:
    """A machine with sessions of several kinds, one of them deleted, and all archived."""
    config = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "turnlog"))
    copy_recorded(config, [DATA / "sessions" / run for run in RUNS])
    assert turnlog("archive", "run").status == 0
    newest = turnlog("ls", "--json").json["sessions"][0]["session_id"]
    assert turnlog("rename", newest, "Deleted " + "wide " * 30).status == 0
    assert turnlog("delete", newest, "--yes", "--force").status == 0
    return config


def on_terminal(words: list[str], columns: int) -> list[str]:
    """The lines that a command writes to a terminal, without colours."""
    import pty  # there is none on Windows

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "turnlog", *words],
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    text = re.sub("\x1b\\[[0-9;]*[mK]", "", written.decode())
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that nobody writes to it any more
        return b""


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_every_table_fits_eighty_columns(busy: Path, turnlog: Turnlog) -> None:
    session = turnlog("ls", "--json").json["sessions"][0]["session_id"]
    wide = {}
    for command in COMMANDS:
        found = on_terminal(command.format(id=session).split(), 80)
        assert any(found), command
        # The place of the index is a path, which nobody could copy from two lines.
        wide[command] = [line for line in found if measure_width(line) > 80 and not line.startswith("/")]
    assert {command: found for command, found in wide.items() if found} == {}


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_narrow_report_names_the_columns_that_it_leaves_out(busy: Path, turnlog: Turnlog) -> None:
    text = " ".join(on_terminal(["usage", "session"], 80))
    assert "cost $" in text
    assert "No room at this width for: messages, cache write" in text
    assert "No room" not in turnlog("usage", "session").out


@given(
    widths=st.lists(st.integers(1, 60), min_size=1, max_size=9),
    available=st.integers(1, 200),
    texts=st.dictionaries(st.integers(0, 8), st.integers(1, 20)),
    spare=st.lists(st.integers(0, 8), unique=True),
)
def test_columns_fit_or_nothing_more_can_be_spared(
    widths: list[int], available: int, texts: dict[int, int], spare: list[int]
) -> None:
    found = fit_columns(widths, available, texts, spare)
    assert sorted(found.kept + found.left_out) == list(range(len(widths)))
    assert set(found.left_out) <= set(spare)
    for at, size in zip(found.kept, found.widths, strict=True):
        assert size == widths[at] or texts[at] <= size < widths[at]
    if sum(found.widths) + COLUMN_GAP_CELLS * (len(found.widths) - 1) > available:
        assert not set(found.kept) & set(spare)
        assert all(size <= texts.get(at, size) for at, size in zip(found.kept, found.widths, strict=True))


def test_a_pipe_gets_every_column_whole() -> None:
    assert fit_columns([100, 100], None, {0: 5}, [1]).widths == [100, 100]
    assert list(render_titled_rows([("id", "x" * 50, "t" * 300)], TerminalScreen())) == [
        "id  " + "x" * 50 + "  " + "t" * 300
    ]
    assert list(render_titled_rows([], TerminalScreen())) == []


def test_a_row_ends_with_as_much_of_its_title_as_fits() -> None:
    (line,) = render_titled_rows([("id", "project" * 5, "12 KB", "t" * 300)], TerminalScreen(width=40), {2}, {1: 8})
    assert line == "id  projectpro…  12 KB  ttttttttttttttt…"


def test_numbers_are_spared_before_they_are_cut() -> None:
    head, cells = ("tool", "calls", "share"), [("Bash" * 10, "1,000", "10.0 %")]
    table = list(render_table_rows(head, cells, TerminalScreen(width=34), range(1, 3), ("share",)))
    assert table[0].split() == ["tool", "calls"]
    assert table[1].endswith("1,000")
    assert " ".join(table[2:]).startswith("No room at this width for: share;")


@pytest.mark.parametrize(
    ("columns", "lines"), [(None, ["one two three"]), (7, ["one two", "three"]), (2, ["one", "two", "three"])]
)
def test_prose_ends_lines_between_words(columns: int | None, lines: list[str]) -> None:
    assert list(TerminalScreen(width=columns).wrap_prose("one two three")) == lines
