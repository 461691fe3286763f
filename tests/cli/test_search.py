"""`turnlog search`, end to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import Build
from turnlog.cli.search.hits import render_snippet
from turnlog.cli.terminal import TerminalScreen

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of this test alone."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shop(machine: Machine) -> Machine:
    """Two sessions."""
    first = Build()
    first.prompt("please fix the cent rounding in shop/cart.py")
    first.answer("roundHalfUp is used now => {done}")
    first.note("custom-title", customTitle="Cent rounding")
    machine.add(ONE, first.data(), mtime=1_700_000_000)
    second = Build()
    second.prompt("what is rounding?")
    second.call("c1", "Bash", {"command": "grep -r rounding"})
    second.result("c1", "no such file", error=True)
    machine.add(TWO, second.data(), mtime=1_700_000_100)
    return machine


def test_hits_are_printed_by_session_and_what_was_searched_is_said(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "rounding")
    assert done.status == 0
    heads = [line for line in done.lines if line.startswith(("aaaaaaaa", "bbbbbbbb"))]
    assert [head.split()[0] for head in heads] == ["aaaaaaaa", "bbbbbbbb"]
    assert heads[0].endswith("webshop  Cent rounding")
    assert "  prompt      please fix the cent rounding in shop/cart.py" in done.lines
    assert done.err == "4 hits in 2 sessions. Searched 8 pieces of text in 2 sessions.\n"
    assert not harmful(done.out)


def test_several_words_of_the_call_are_one_query(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("search", "fix", "cent").lines[0][:8] == "aaaaaaaa"
    done = turnlog("search", "rounding", "-cent", "-grep", "--json")
    assert [item["session_id"] for item in done.json["sessions"]] == [TWO]


def test_a_word_that_begins_with_a_minus_is_no_option(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "rounding", "-hello", "-json", "--limit", "1")
    assert done.status == 0
    assert done.lines[0].startswith("aaaaaaaa")


def test_help_is_given_on_both_words(turnlog: Turnlog) -> None:
    for word in ("-h", "--help"):
        done = turnlog("search", word)
        assert (done.status, "Examples:" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ('fix "cent', ["turnlog: this quote is never closed", '  fix "cent', "      ^"]),
        ("rounding OR", ["turnlog: a word or filter must follow this OR", "  rounding OR", "           ^"]),
        (
            "日本 tool:Basg",
            ["turnlog: no tool matches 'Basg'; closest matches: Bash", "  日本 tool:Basg", "            ^"],
        ),
        ("x" * 100 + " )", ["turnlog: this parenthesis was never opened", f"  …{'x' * 59} )", f"  {' ' * 61}^"]),
    ],
)
def test_a_bad_query_is_explained_with_a_caret(turnlog: Turnlog, shop: Machine, query: str, lines: list[str]) -> None:
    done = turnlog("search", query)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines() == lines


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "nothing to search for"),
        ([" "], "nothing to search for"),
        (["--substring", "a", "--regex", "b"], "not both"),
        (["--regex", "(a"], "unterminated subpattern"),
        (["--substring", ""], "the text is empty and would match everything"),
        (["x", "--limit", "0"], "--limit"),
        (["x", "--sort", "best"], "--sort"),
    ],
)
def test_wrong_words_of_the_call_are_explained(turnlog: Turnlog, words: list[str], reason: str) -> None:
    done = turnlog("search", *words)
    assert done.status == 2
    assert reason in done.err


def test_words_beside_a_substring_are_refused(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "--substring", "=>", "tool:Bash", "-word")
    assert done.status == 2
    assert done.err.splitlines()[0] == "turnlog: with --substring or --regex, the query may contain only filters"


def test_the_document_says_where_hits_are(turnlog: Turnlog, shop: Machine) -> None:
    found = turnlog("search", "roundHalfUp", "--json").json
    (session,) = found["sessions"]
    (hit,) = session["hits"]
    text = hit["text"]
    assert [text[start:end] for start, end in hit["ranges"]] == ["roundHalfUp"]
    data = Path(hit["path"]).read_bytes()
    assert b"roundHalfUp" in data[hit["offset"] :].split(b"\n")[0]
    assert (hit["kind"], session["title"], session["deleted"]) == ("answer", "Cent rounding", False)
    assert found["total"] == {
        "hits": 1,
        "sessions": 1,
        "at_least": False,
        "scattered": False,
        "gone": 0,
        "loosened": [],
    }
    assert found["searched"]["complete"] is True
    assert found["scan"] is None


def test_a_substring_is_found_anywhere(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "--substring", "HalfUp is used now => {", "--json").json
    assert [item["session_id"] for item in done["sessions"]] == [ONE]
    assert done["scan"]["files"] == 2
    assert done["scan"]["bytes"] == sum(path.stat().st_size for path in shop.folder.rglob("*.jsonl"))
    assert done["scan"]["mb_per_second"] >= 0


def test_a_regex_is_found_with_filters_and_context(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "--regex", r"r.unding\b", "kind:call", "--context", "1")
    assert [line.split()[0] for line in done.lines] == ["bbbbbbbb", "prompt", "call", "result"]
    assert done.err.splitlines()[0].startswith("1 hit in 1 session. Searched 8 pieces of text in 2 sessions.")


def test_a_deleted_session_is_found_and_its_missing_text_told(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("search", "rounding").status == 0
    next(shop.folder.rglob(f"{ONE}.jsonl")).unlink()
    done = turnlog("search", "cent")
    assert " (deleted)" in done.lines[0]
    assert "(this text is no longer available)" in done.out
    assert "Searched 8 pieces of text in 2 sessions (1 deleted)." in done.err
    assert "The text of 2 hits can't be shown" in done.err
    assert turnlog("search", "cent", "--json").json["sessions"][0]["hits"][0]["text"] is None
    scan = turnlog("search", "--substring", "cent", "--json").json["scan"]
    assert [reason.endswith("deleted, and not in the archive") for reason in scan["unread"]] == [True]


def test_a_deleted_session_in_the_archive_is_read_from_there(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("archive", "run").status == 0
    assert turnlog("search", "rounding").status == 0
    next(shop.folder.rglob(f"{ONE}.jsonl")).unlink()
    done = turnlog("search", "roundHalfUp")
    assert "roundHalfUp is used now" in done.out
    done = turnlog("search", "--substring", "=> {done}")
    assert "roundHalfUp is used now" in done.out


def test_a_session_in_the_trash_is_left_out_and_told_of_with_the_way_back(turnlog: Turnlog, shop: Machine) -> None:
    before = turnlog("search", "rounding", "--json").json
    assert turnlog("delete", ONE, "--yes").status == 0
    done = turnlog("search", "rounding")
    assert [line[:8] for line in done.lines if line[:1] != " "] == ["bbbbbbbb"]
    assert "gone" not in done.out
    assert done.err.splitlines() == [
        "2 hits in 1 session. Searched 4 pieces of text in 1 session.",
        "Left out: 2 hits in 1 session in turnlog's trash; `turnlog undelete aaaaaaaa` restores it.",
    ]
    found = turnlog("search", "rounding", "--json").json
    assert [item["session_id"] for item in found["sessions"]] == [TWO]
    assert found["total"] == {
        "hits": 2,
        "sessions": 1,
        "at_least": False,
        "scattered": False,
        "gone": 0,
        "loosened": [],
    }
    assert found["searched"]["deleted"] == 0
    assert found["searched"]["trashed"] == {"sessions": [ONE], "hits": 2}
    assert turnlog("undelete", "aaaaaaaa").status == 0
    assert turnlog("search", "rounding", "--json").json == before


def test_what_the_trash_holds_is_told_only_where_it_fits(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("search", "rounding").status == 0
    assert turnlog("delete", ONE, TWO, "--yes").status == 0
    done = turnlog("search", "rounding")
    assert done.err.splitlines() == [
        "Nothing found. Searched 0 pieces of text in 0 sessions.",
        "Left out: 4 hits in 2 sessions in turnlog's trash; `turnlog undelete --list` lists them.",
    ]
    assert "Left out: 1 hit in 1 session" in turnlog("search", "grep").err
    assert "Left out: 2 hits in 1 session" in turnlog("search", "rounding", "session:aaaaaaaa").err
    for words in (["quokka"], ["rounding", "before:2000-01-01"]):
        assert "Left out" not in turnlog("search", *words).err


def test_parts_of_identifiers_in_the_trash_are_told_of(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("search", "rounding").status == 0
    assert turnlog("delete", ONE, "--yes").status == 0
    assert "Left out: 1 hit in 1 session" in turnlog("search", "half").err


def test_a_session_in_the_trash_is_left_out_even_if_the_archive_has_it(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("archive", "run").status == 0
    assert turnlog("delete", ONE, "--yes").status == 0
    assert turnlog("search", "roundHalfUp").out == ""
    assert turnlog("search", "--substring", "=> {done}").out == ""


def test_a_scan_leaves_out_the_trash_and_says_so(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("search", "rounding").status == 0
    assert turnlog("delete", ONE, "--yes").status == 0
    done = turnlog("search", "--substring", "ounding")
    assert [line[:8] for line in done.lines if line[:1] != " "] == ["bbbbbbbb"]
    told = "Left out: 1 session in turnlog's trash; `turnlog undelete aaaaaaaa` restores it."
    assert done.err.splitlines()[-1] == told
    assert "Not read" not in done.err
    found = turnlog("search", "--substring", "ounding", "--json").json
    assert (found["scan"]["unread"], found["searched"]["trashed"]) == ([], {"sessions": [ONE], "hits": None})
    assert "Left out" not in turnlog("search", "--substring", "ounding", "session:bbbbbbbb").err


def test_words_in_several_texts_are_offered_with_a_remark(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "cart", "roundHalfUp")
    assert done.lines[0].startswith("aaaaaaaa")
    assert done.err.splitlines()[0].startswith("No single message contains all of these words")


def test_what_sub_agents_said_is_marked_and_the_mark_explained(turnlog: Turnlog, shop: Machine) -> None:
    agent = Build()
    agent.prompt("look for the tax", isSidechain=True)
    path = next(shop.folder.rglob(f"{ONE}.jsonl")).with_suffix("") / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(agent.data())
    done = turnlog("search", "tax")
    assert "  prompt ·    look for the tax" in done.lines
    assert done.err.splitlines()[0] == "·: from a sub-agent."
    assert "·" not in turnlog("search", "rounding").err


def test_words_of_which_not_all_identifiers_were_looked_for_are_named(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(" ".join(f"user{first}{second}" for first in ascii_uppercase for second in ascii_lowercase))
    machine.add(ONE, build.data())
    done = turnlog("search", "user")
    assert done.err.splitlines() == [
        "1+ hits in 1+ sessions, 1 shown (--limit). Searched 2 pieces of text in 1 session.",
        "Only some of the many identifiers that contain user were searched.",
    ]
    assert turnlog("search", "user", "--json").json["searched"]["cut"] == ["user"]


def test_the_longest_kind_stands_apart_from_the_text(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("fix the tax")
    build.note("attachment", attachment={"type": "todo_reminder", "content": "and the discount"})
    machine.add(ONE, build.data())
    done = turnlog("search", "tax", "--context", "1")
    assert any(line.startswith("    attachment ") for line in done.lines)


def test_nothing_found_says_what_was_searched(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "zzz", "=>")
    assert (done.status, done.out) == (0, "")
    assert done.err.splitlines() == [
        "Nothing found. Searched 8 pieces of text in 2 sessions.",
        "Words without letters or digits were ignored: => (--substring finds them).",
    ]


def test_a_machine_without_sessions_searches_the_demo(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("search", "cent rounding")
    assert done.lines[0].startswith("bee7dbd3")
    assert "made-up" in done.err


def test_nothing_in_a_transcript_acts_on_the_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(f"needle {HOSTILE} needle", cwd=f"/home/{HOSTILE}")
    build.answer(HOSTILE + " after")
    build.note("custom-title", customTitle=HOSTILE)
    machine.add(ONE, build.data())
    for words in (["needle"], ["--substring", "needle"], ["--regex", "need.*", "--context", "2"]):
        done = turnlog("search", *words, "--context", "2")
        assert "needle" in done.out
        assert not harmful(done.out)
        assert not harmful(done.err)
    assert turnlog("search", "needle", "--json").status == 0


@pytest.mark.parametrize(
    ("screen", "expected"),
    [
        (TerminalScreen(color=True, width=80), "a \x1b[1;31mbig\x1b[0m cat"),
        (TerminalScreen(color=False, width=80), "a «big» cat"),
        (TerminalScreen(color=False, width=None), "a big cat"),
        (TerminalScreen(color=False, width=18), "a «b…»"),
    ],
)
def test_matches_are_painted_or_marked_on_a_terminal_alone(screen: TerminalScreen, expected: str) -> None:
    assert render_snippet("a big cat", [(2, 5)], screen).rstrip() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
def test_a_regex_that_never_ends_can_be_interrupted(machine: Machine, home: Path) -> None:
    build = Build()
    build.prompt("a" * 60 + "!")
    machine.add(ONE, build.data())
    words = [sys.executable, "-m", "turnlog", "search", "--regex", "(a+)+$"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        limit = time.monotonic() + 20
        while not any(home.glob("*.db")) and time.monotonic() < limit:
            time.sleep(0.05)
        time.sleep(1)
        assert running.poll() is None
        # The first one may come while the index is brought up to date, which it only cuts short.
        while running.poll() is None and time.monotonic() < limit:
            os.killpg(running.pid, signal.SIGINT)
            time.sleep(0.5)
        _, err = running.communicate(timeout=20)
    finally:
        if running.poll() is None:
            running.kill()
    assert running.returncode == 130
    assert b"interrupted" in err


def test_output_is_plain_in_a_pipe(turnlog: Turnlog, shop: Machine) -> None:
    assert "\x1b" not in turnlog("search", "rounding").out


def test_words_like_the_typed_ones_are_labelled(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("search", "roundin")
    assert "Nothing found for “roundin”; these are hits for words that start with it: rounding." in done.err
    done = turnlog("search", "rouding")
    assert "Nothing found for “rouding”; these are hits for similar words: rounding." in done.err
    assert turnlog("search", "proj:shop").err.startswith("turnlog: unknown filter proj:; did you mean project:?")
