"""`turnlog statusline`: one line for the client, fast, whatever it is given."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import HOSTILE, Turnlog, harmful
from tests.cli.test_startup import loaded_by
from tests.conftest import Program
from tests.session.build import DATA, Build, find_recording
from tests.session.test_filling import usage
from turnlog.api.config import data_dir
from turnlog.cli.statusline import status_facts, status_text
from turnlog.cli.statusline.statusline import SNIPPET
from turnlog.session.session import Session
from turnlog.session.usage.prices import find_context_window, load_price_table
from turnlog.session.window.window_fill import compute_window_fill
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME

SCHEMA = Path(status_facts.__file__).parents[2] / "store" / "schema.sql"
GIVEN: dict[str, Any] = {
    "session_id": "abcdef12-3456",
    "transcript_path": "/nowhere/abcdef12.jsonl",
    "cwd": "/home/dana/webshop",
    "model": {"id": "claude-opus-5", "display_name": "Opus 5"},
    "workspace": {"current_dir": "/home/dana/webshop", "project_dir": "/home/dana"},
    "version": "2.1.325",
    "cost": {"total_cost_usd": 1.254},
    "context_window": {
        "total_input_tokens": 9_999_999,
        "context_window_size": 200_000,
        "current_usage": {
            "input_tokens": 4,
            "output_tokens": 900,
            "cache_creation_input_tokens": 3_996,
            "cache_read_input_tokens": 80_000,
        },
    },
}
"""What the client gives, as 2.1.325 documents it."""


def render_status(given: object, template: str | None = None, *, color: bool = False) -> str:
    return status_text.render_status_line(given, template, color=color)


def run(
    given: bytes | None, *words: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "turnlog", "statusline", *words],
        cwd=cwd,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        env={**os.environ, "NO_COLOR": "1", **environment},
        timeout=30,
    )


def test_the_line_tells_model_folder_fill_and_cost() -> None:
    assert render_status(GIVEN) == "Opus 5 · webshop · ctx 42% 84k · $1.25"


def test_the_program_prints_that_line() -> None:
    done = run(json.dumps(GIVEN).encode())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, render_status(GIVEN) + "\n", b"")


def test_a_template_says_what_is_printed() -> None:
    template = "{model}|{folder}|{percent}|{tokens}|{window}|{cost}|{session}|{version}|{today}|{nobody}|{"
    assert render_status(GIVEN, template) == "Opus 5|webshop|42%|84k|200k|$1.25|abcdef12|2.1.325||{nobody}|{"
    for words in (["--format", "{cost}"], ["--format={cost}"]):
        assert run(json.dumps(GIVEN).encode(), *words).stdout == b"$1.25\n"


def test_every_placeholder_is_known_and_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "statusline.md").read_text(encoding="utf-8")
    for name, meaning in status_text.PLACEHOLDERS.items():
        assert f"| `{{{name}}}` | {meaning} |" in text
        assert "{" not in render_status(GIVEN, "{" + name + "}")


@pytest.mark.parametrize(
    ("held", "start"), [(100_000, "50%"), (120_000, "\x1b[33m60%"), (160_000, "\x1b[31m80%"), (250_000, "\x1b[31m125%")]
)
def test_a_window_that_fills_is_yellow_then_red(held: int, start: str) -> None:
    given = {"context_window": {"context_window_size": 200_000, "current_usage": {"cache_read_input_tokens": held}}}
    assert render_status(given, "{percent}", color=True).startswith(start)
    assert "\x1b" not in render_status(given, "{percent}")


def test_no_color_is_respected() -> None:
    given = json.dumps(GIVEN).encode()
    assert b"\x1b" not in run(given).stdout
    assert b"\x1b" in run(given, NO_COLOR="").stdout


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(7, "7"), (999, "999"), (1000, "1k"), (8400, "8.4k"), (84_000, "84k"), (999_499, "999k"), (1_000_000, "1M"),
     (1_250_000, "1.25M")],
)  # fmt: skip
def test_tokens_are_told_in_short(tokens: int, text: str) -> None:
    assert render_status({"context_window": {"current_usage": {"input_tokens": tokens}}}, "{tokens}") == text


# -- the transcript


def test_without_the_clients_word_the_last_usage_of_the_transcript_counts(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("one", usage=usage(50_000))
    build.answer("two", id="m", usage=usage(60_000, output=1))
    build.answer("three", id="m", usage=usage(70_000))
    build.answer("No response requested.", model="<synthetic>", usage=usage(99_000))
    build.answer("of an agent", isSidechain=True, usage=usage(5))
    build.prompt("on")
    path = build.write(tmp_path)
    given = {"transcript_path": str(path)}
    assert render_status(given) == "ctx 7% 70k"
    with Session.open(path) as session:
        assert compute_window_fill(session).measured_tokens == 70_000


def test_of_several_requests_behind_a_message_the_last_of_its_own_model_fills_the_window(tmp_path: Path) -> None:
    build = Build()
    advice = usage(90_000) | {"type": "advisor_message", "model": "claude-fable-5"}
    requests = [usage(30_000) | {"type": "message"}, advice, usage(40_000) | {"type": "message"}, advice]
    build.answer("one", usage=usage(70_000) | {"iterations": requests})
    assert render_status({"transcript_path": str(build.write(tmp_path))}) == "ctx 4% 40k"


def test_requests_that_say_nothing_of_the_prompt_leave_the_sum(tmp_path: Path) -> None:
    build = Build()
    build.answer("one", usage=usage(70_000) | {"iterations": [None, 7, {"type": "message"}]})
    assert render_status({"transcript_path": str(build.write(tmp_path))}) == "ctx 7% 70k"


@pytest.mark.parametrize("path", sorted(DATA.glob("sessions/2*/*/projects/*/????????-*.jsonl")), ids=lambda p: p.stem)
def test_it_is_the_last_fill_of_the_session(path: Path) -> None:
    with Session.open(path) as session:
        boundary = max((item.boundary.index for item in session.compactions), default=-1)
        places = {message.key: message.lines[-1].index for message in session.messages}
        last = max(session.context, key=lambda fill: places[fill.message], default=None)
        expected = last.tokens if last and places[last.message] > boundary else None
    assert status_facts.read_last_fill(str(path))[0] == expected


def test_after_a_compaction_nothing_is_known_yet(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("one", usage=usage(50_000))
    build.boundary()
    build.summary()
    assert status_facts.read_last_fill(str(build.write(tmp_path))) == (None, "")


def test_the_client_that_says_nothing_yet_is_believed(tmp_path: Path) -> None:
    given = {"transcript_path": str(find_recording("2.1.325/tools")), "context_window": {"current_usage": None}}
    assert render_status(given, "[{context}]") == "[]"
    assert render_status({**given, "context_window": {"current_usage": "odd"}}, "[{context}]") != "[]"


def test_only_the_end_of_a_large_transcript_is_read(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("one", usage=usage(50_000))
    build.answer("two", usage=usage(60_000))
    start, end = build.data().split(b"\n", 1)
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.write(start + b"\n")
        file.seek(64 << 30)  # a hole that takes no room and that nobody could read to its end
        file.write(b"\n" + end)
    assert status_facts.read_last_fill(str(path))[0] == 60_000
    path.write_bytes(start + b"\n" + end + b"x" * 200_000 + b"\n")
    assert status_facts.read_last_fill(str(path))[0] == 60_000
    path.write_bytes(start + b"\n" + end + b"x" * (9 << 20) + b"\n")
    assert status_facts.read_last_fill(str(path)) == (None, "")


def test_the_window_is_the_one_of_the_price_table() -> None:
    for model in [
        *load_price_table().models,
        "claude-opus-4-5-20251101",
        "claude-opus-5[1m]",
        "us.anthropic.claude-opus-4-1-v1:0",
    ]:
        for held in (0, 150_000, 500_000):
            assert status_facts.find_model_window(model, held) == find_context_window(model, held)
    assert status_facts.find_model_window("nobody-1", 5) is None
    assert status_facts.find_model_window("", 5) is None


# -- git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    return tmp_path / "repo"


def test_the_branch_is_found_from_any_folder_of_the_repository(repository: Path) -> None:
    assert status_facts.find_git_branch(str(repository / "src" / "deep")) == "feature/x"
    assert render_status({"cwd": str(repository)}) == "repo · (feature/x)"


def test_a_checked_out_commit_is_told_by_its_start(repository: Path) -> None:
    (repository / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert status_facts.find_git_branch(str(repository)) == "0123456"


def test_a_worktree_has_its_own_branch(repository: Path, tmp_path: Path) -> None:
    inner = repository / ".git" / "worktrees" / "w"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/other\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {inner}\n")
    assert status_facts.find_git_branch(str(tmp_path / "w")) == "other"


@pytest.mark.parametrize("folder", ["", "relative", "/nowhere/at/all", "/\0"])
def test_a_folder_without_git_has_no_branch(folder: str, tmp_path: Path) -> None:
    assert render_status({"cwd": folder}, "{branch}") == ""
    (tmp_path / ".git").mkdir()
    assert status_facts.find_git_branch(str(tmp_path)) == ""


# -- money and time


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    db = apsw.Connection(str(tmp_path / "own" / DEFAULT_INDEX_NAME))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(SCHEMA.read_text(encoding="utf-8"))
    yield db
    db.close()


def spend(db: apsw.Connection, hour: int, dollars: float) -> None:
    names = [row[1] for row in db.execute("PRAGMA table_info(spend)")]
    values = {"hour": hour, "cost": round(dollars * 10**12)}
    marks = ",".join("?" * len(names))
    db.execute(f"INSERT INTO spend ({','.join(names)}) VALUES ({marks})", [values.get(name, 0) for name in names])


def test_what_today_cost_comes_from_the_index(index: apsw.Connection) -> None:
    now = int(time.time() // 3600)
    spend(index, now, 2.5)
    spend(index, now, 0.25)
    spend(index, now - 48, 100)
    assert render_status({}) == "today ≥$2.75"
    assert render_status({}, "{today}") == "≥$2.75"


def test_it_is_exact_once_the_index_has_read_this_session_to_its_end(index: apsw.Connection, tmp_path: Path) -> None:
    spend(index, int(time.time() // 3600), 2.5)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"{}\n")
    index.execute("INSERT INTO file (path, kind, session, offset) VALUES (?, 'session', 1, 3)", (str(path),))
    assert render_status({"transcript_path": str(path)}, "{today}") == "$2.50"
    path.write_bytes(b"{}\n{}\n")
    assert render_status({"transcript_path": str(path)}, "{today}") == "≥$2.50"


def test_an_index_without_a_word_about_today_is_passed_over(index: apsw.Connection) -> None:
    assert render_status(GIVEN, "[{today}]") == "[]"


def test_nobody_waits_for_an_index_that_is_locked(index: apsw.Connection) -> None:
    spend(index, int(time.time() // 3600), 2.5)
    index.execute("PRAGMA journal_mode=DELETE").fetchall()
    # In a process of its own: two SQLite libraries in one process do not see each other's locks.
    assert run(b"{}", "--format", "[{today}]").stdout.decode() == "[≥$2.50]\n"
    index.execute("BEGIN EXCLUSIVE")
    assert run(b"{}", "--format", "[{today}]").stdout == b"[]\n"


def test_an_index_of_another_version_or_a_broken_one_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path))
    (tmp_path / DEFAULT_INDEX_NAME).write_bytes(b"no database at all" * 100)
    assert render_status({}, "[{today}]") == "[]"
    (tmp_path / DEFAULT_INDEX_NAME).unlink()
    sqlite3.connect(tmp_path / DEFAULT_INDEX_NAME).close()
    assert render_status({}, "[{today}]") == "[]"


def test_nothing_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "own"))
    render_status(GIVEN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("home", [None, "/somewhere/else"])
def test_the_data_folder_is_the_one_of_the_program(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    if home:
        monkeypatch.setenv("TURNLOG_HOME", home)
    assert Path(status_facts.data_folder()) == data_dir()
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.cwd()))
    assert Path(status_facts.data_folder()) == data_dir()


def test_the_rest_of_the_five_hour_block_is_told() -> None:
    limits = {"five_hour": {"used_percentage": 37.4, "resets_at": time.time() + 2 * 3600 + 14 * 60 + 30}}
    assert render_status({"rate_limits": limits}) == "block 2h14m left"
    assert render_status({"rate_limits": limits}, "{limit}") == "37%"
    limits["five_hour"]["resets_at"] = time.time() - 5
    assert render_status({"rate_limits": limits}, "[{block}]") == "[]"


# -- whatever it is given


@pytest.mark.parametrize("given", [b"", b"   ", b"{", b"no json", b"[1]", b"null", b"\xff\xfe", b'{"a":' * 100_000])
def test_bad_input_gives_a_short_line_and_status_0(given: bytes) -> None:
    done = run(given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"turnlog statusline: no JSON object on standard input\n"


def test_no_input_gives_a_short_line_and_status_0() -> None:
    done = run(None)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    assert run(b"{}").stdout == b"turnlog: no data yet\n"


def test_a_terminal_or_nothing_in_place_of_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "--help" in render_status(status_text._read_client_json())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(GIVEN, values)), st.data())
def test_any_field_may_be_missing_or_of_any_type(given: dict[str, Any], data: st.DataObject) -> None:
    whole = json.loads(json.dumps(GIVEN))
    for name in data.draw(st.lists(st.sampled_from(["model", "workspace", "cost", "context_window"]), max_size=2)):
        key = data.draw(st.sampled_from(sorted(whole[name]))) if isinstance(whole[name], dict) else None
        if key is not None:
            whole[name][key] = data.draw(values)
    for found in (given, whole):
        text = render_status(found)
        assert "\n" not in text
        assert harmful(text) == set()


def test_hostile_names_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/a\x1b[2Jb\n")
    given = {"model": {"display_name": HOSTILE}, "cwd": str(folder), "version": HOSTILE, "session_id": HOSTILE}
    for template in (None, "{model}{branch}{version}{session}", HOSTILE):
        assert harmful(render_status(given, template)) == set()
    assert b"\x1b" not in run(json.dumps(given).encode()).stdout


def test_a_long_name_is_cut() -> None:
    assert len(render_status({"model": {"id": "x" * 100_000}})) < 300


# -- starting


def test_help_and_install_come_from_the_full_program(turnlog: Turnlog) -> None:
    assert json.loads(turnlog("statusline", "--install").out) == json.loads(SNIPPET)
    told = turnlog("statusline", "--help").out
    assert '"statusLine": {"type": "command", "command": "turnlog statusline"}' in told
    fields = " ".join(told.split()).split("Fields for --format: ")[1].split(" (see docs")[0]
    assert set(fields.replace(" and ", ", ").split(", ")) == set(status_text.PLACEHOLDERS)


def test_wrong_words_are_refused(program: Program) -> None:
    assert program("statusline", "--nothing").returncode == 2
    assert program("statusline", "--format").returncode == 2


def test_it_starts_without_anything_heavy() -> None:
    heavy = {"click", "msgspec", "json", "re", "typing", "pathlib", "argparse", "datetime", "sqlite3", "contextlib"}
    assert loaded_by("statusline") & heavy == set()
