"""`turnlog ls`: which sessions are listed, in which order, and what is said of them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.cli.test_widths import on_terminal
from tests.session.build import Build
from turnlog.api.lookup import shorten_ids
from turnlog.api.sessions import is_in_project
from turnlog.cli.sessions.ls import MAX_TERMINAL_SESSIONS
from turnlog.cli.time_format import format_time_ago

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
THREE = "cccccccc-0000-4000-8000-000000000003"


def session(
    text: str = "hello", *, wait: float = 0, cwd: str = "/home/dana/webshop", title: str | None = None
) -> bytes:
    build = Build()
    build.wait(wait)
    build.prompt(text, cwd=cwd)
    build.answer("hi", cwd=cwd)
    if title is not None:
        build.note("custom-title", customTitle=title)
    return build.data()


def test_sessions_are_listed_by_the_time_of_their_last_word_newest_first(machine: Machine, turnlog: Turnlog) -> None:
    """A copy of an old session is an old session."""
    machine.add(ONE, session("older"))
    machine.add(TWO, session("newer", wait=3600))
    done = turnlog("ls")
    assert [line.split()[0] for line in done.lines] == ["bbbbbbbb", "aaaaaaaa"]
    assert (done.status, done.err) == (0, "")


def test_a_time_that_lies_after_the_writing_of_the_file_is_not_believed(machine: Machine, turnlog: Turnlog) -> None:
    machine.add(ONE, session("from the future", wait=10**9), mtime=1_800_000_000)
    machine.add(TWO, session("now", wait=3600), mtime=1_800_000_001)
    machine.add(THREE, b'{"type":"user","message":{"content":"no time"},"sessionId":"x"}\n', mtime=1_800_000_002)
    assert [line.split()[0][0] for line in turnlog("ls").lines] == ["c", "a", "b"]


def test_a_line_has_id_time_project_size_and_title(machine: Machine, turnlog: Turnlog) -> None:
    size = machine.add(ONE, session(title="Fix\nthe  cart")).stat().st_size
    (line,) = turnlog("ls").lines
    when = datetime(2026, 1, 1, 10, 2, tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    assert line.split("  ") == ["aaaaaaaa", when, "webshop", f"{size} B", "Fix the cart"]


def test_files_without_a_conversation_are_counted_and_shown_on_request(machine: Machine, turnlog: Turnlog) -> None:
    machine.add(ONE, session())
    machine.add(TWO, b"")
    machine.add(THREE, b'{"type":"summary","summary":"Old","leafUuid":"x"}\n')
    done = turnlog("ls")
    assert len(done.lines) == 1
    assert done.err == "2 files without a conversation are hidden; --all shows them.\n"
    everything = turnlog("ls", "--all")
    assert len(everything.lines) == 3
    assert "[empty]" in everything.out
    assert "[summary-only] Old" in everything.out
    assert turnlog("ls", "--json").json["hidden"] == 2
    assert turnlog("ls", "--json", "--all").json["hidden"] == 0


def test_the_project_is_the_working_folder_and_never_the_name_of_the_project_folder(
    machine: Machine, turnlog: Turnlog
) -> None:
    machine.add(ONE, session(cwd="/srv/real-place"), slug="-home-somebody-else")
    (found,) = turnlog("ls", "--json").json["sessions"]
    assert found["project"] == found["cwd"] == "/srv/real-place"


@pytest.mark.parametrize(
    ("cwd", "project", "fits"),
    [
        ("/home/dana/webshop", "/home/dana/webshop", True),
        ("/home/dana/webshop/", "/home/dana/webshop", True),
        ("/home/dana/webshop", "/home/dana/webshop/", True),
        ("/home/dana/webshop/api", "/home/dana/webshop", True),
        ("/home/dana/webshop2", "/home/dana/webshop", False),
        ("/home/dana", "/home/dana/webshop", False),
        ("/home/dana/webshop", "shop", True),
        ("/home/dana/webshop", "WEB", True),
        ("/home/dana/webshop", "dana", False),
        ("C:\\Users\\dana\\reports", "reports", True),
        ("C:\\Users\\dana\\reports", "C:\\Users\\dana", True),
        ("C:\\Users\\dana\\reports", "C:/Users/dana", True),
        (None, "webshop", False),
    ],
)
def test_a_project_is_a_folder_with_what_is_below_it_or_a_part_of_its_name(
    cwd: str | None, project: str, fits: bool
) -> None:
    assert is_in_project(cwd, project) is fits


def test_a_dot_means_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_in_project(str(tmp_path / "below"), ".")
    assert is_in_project(str(tmp_path), "./below") is False


def test_only_the_sessions_of_a_project_are_listed(machine: Machine, turnlog: Turnlog) -> None:
    machine.add(ONE, session(cwd="/a/webshop"))
    machine.add(TWO, session(cwd="/a/notes"))
    assert [line.split()[0] for line in turnlog("ls", "--project", "notes").lines] == ["bbbbbbbb"]
    none = turnlog("ls", "-p", "nothing\x1b[2J")
    assert (none.status, none.lines) == (2, [])
    assert none.err == "turnlog: --project 'nothing\\x1b[2J': no session has this project\n"


def test_a_machine_without_sessions_shows_the_demo_and_says_so(turnlog: Turnlog) -> None:
    done = turnlog("ls", "--json")
    assert done.err == "There are no Claude Code sessions on this machine; showing a made-up demo.\n"
    sessions = done.json["sessions"]
    assert len(sessions) >= 10
    assert all(found["demo"] for found in sessions)
    ended = [found["ended"] for found in sessions]
    assert ended == sorted(ended, reverse=True)


def test_sessions_of_further_config_folders_are_listed_too(
    machine: Machine, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(ONE, session())
    Machine(tmp_path / "other").add(TWO, session())
    monkeypatch.setenv("TURNLOG_CONFIG_DIRS", str(tmp_path / "other"))
    assert len(turnlog("ls").lines) == 2


def test_a_hostile_title_and_folder_do_no_harm(machine: Machine, turnlog: Turnlog) -> None:
    machine.add(ONE, session(HOSTILE, cwd=f"/x/{HOSTILE}", title=HOSTILE))
    assert harmful(turnlog("ls").out) == set()
    assert turnlog("ls", "--json").json["sessions"][0]["title"].startswith("a\x1b[2J")


def test_short_ids_are_long_enough_to_tell_sessions_apart() -> None:
    one, two, three = "aaaaaaaa-1111", "aaaaaaaa-1122", "bbbbbbbb-1111"
    assert shorten_ids([one, two, three, one]) == {one: "aaaaaaaa-111", two: "aaaaaaaa-112", three: "bbbbbbbb"}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"), (3600, "1 hour ago"),
     (86399, "23 hours ago"), (86400, "1 day ago"), (6.9 * 86400, "6 days ago")],
)  # fmt: skip
def test_times_of_the_last_week_are_told_by_how_long_ago_they_were(seconds: float, words: str) -> None:
    now = datetime(2026, 1, 10, 12, tzinfo=UTC)
    assert format_time_ago(now.timestamp() - seconds, now) == words


@pytest.mark.parametrize("days", [8, -1])
def test_other_times_are_told_by_their_date(days: int) -> None:
    now = datetime(2026, 1, 10, 12, tzinfo=UTC)
    assert format_time_ago(now.timestamp() - days * 86400, now) == ("2026-01-02" if days == 8 else "2026-01-11")


def test_a_limit_cuts_the_list_into_pages(machine: Machine, turnlog: Turnlog) -> None:
    for name in (ONE, TWO, THREE):
        machine.add(name, session())
    first, second = turnlog("ls", "--limit", "2"), turnlog("ls", "-n", "2", "--page", "2")
    assert [line[:8] for line in (*first.lines, *second.lines)] == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]
    assert first.err == "2 of 3 sessions; --page 2 lists the next; --limit 0 lists all.\n"
    assert second.err == "1 of 3 sessions; --limit 0 lists all.\n"
    found = turnlog("ls", "--json", "-n", "2", "--page", "2").json
    assert (len(found["sessions"]), found["total"], found["page"], found["pages"]) == (1, 3, 2, 2)


def test_a_page_that_is_not_there_is_an_error(machine: Machine, turnlog: Turnlog) -> None:
    machine.add(ONE, session())
    done = turnlog("ls", "--page", "2")
    assert (done.status, done.err) == (2, "turnlog: --page 2: there is 1 page\n")
    machine.add(TWO, session())
    assert turnlog("ls", "-n", "1", "--page", "3").err == "turnlog: --page 3: there are 2 pages\n"


def test_a_pipe_gets_all_sessions(machine: Machine, turnlog: Turnlog) -> None:
    for number in range(MAX_TERMINAL_SESSIONS + 1):
        machine.add(f"{number:08x}-0000-4000-8000-000000000001", session())
    assert len(turnlog("ls").lines) == MAX_TERMINAL_SESSIONS + 1
    assert len(turnlog("ls", "--json").json["sessions"]) == MAX_TERMINAL_SESSIONS + 1


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("words", "lines"), [([], MAX_TERMINAL_SESSIONS), (["--all"], 52), (["--limit", "0"], 52)])
def test_a_terminal_gets_a_page_unless_all_are_asked_for(machine: Machine, words: list[str], lines: int) -> None:
    for number in range(52):
        machine.add(f"{number:08x}-0000-4000-8000-000000000001", session())
    found = on_terminal(["ls", *words], 80)
    assert sum("webshop" in line for line in found) == lines


def test_titles_come_from_a_fresh_index_and_else_from_the_file(
    machine: Machine, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    large = session("y" * 200_000) + session(title="In the middle") + session("y" * 200_000)
    machine.add(ONE, large, mtime=1_700_000_000)
    assert turnlog("ls", "--json").json["sessions"][0]["title"] == "In the middle"
    assert turnlog("index").status == 0
    assert turnlog("ls", "--json").json["sessions"][0]["title"] == "In the middle"
    machine.add(ONE, large.replace(b"In the middle", b"in the middle"), mtime=1_700_000_001)
    assert turnlog("ls", "--json").json["sessions"][0]["title"] == "in the middle"


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_lines_are_cut_to_its_width_and_coloured(machine: Machine) -> None:
    machine.add(ONE, session("very long " * 50))
    code = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'turnlog', 'ls']) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "COLUMNS": "60", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    (line,) = done.stdout.decode().splitlines()
    assert "\x1b[33maaaaaaaa\x1b[0m" in line
    plain = line.replace("\x1b[33m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert len(plain) <= 60
    assert plain.endswith("…")
